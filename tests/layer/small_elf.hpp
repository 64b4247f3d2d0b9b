// Small ELF files for tests: x86-64 or another machine, 64 bit, little endian, with just the tables that facts read.
#pragma once

#include <elf.h>

#include <cstdint>
#include <string>
#include <vector>

struct SmallElf {
  unsigned machine = EM_X86_64;
  std::string interpreter;
  std::vector<std::string> needed;
  std::string soname;
  std::vector<std::string> needs;  // versions of needed[0]
  std::vector<std::string> defines;
  std::string text;  // kept at the end, with a NUL before and behind
};

inline std::string small_elf(const SmallElf& wanted) {
  const auto append = [](std::string& to, const auto& value) {
    to.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  std::string strings(1, '\0');
  const auto name = [&](const std::string& text) {
    const std::size_t at = strings.size();
    strings += text + '\0';
    return at;
  };
  std::vector<Elf64_Dyn> tags;
  const auto tag = [&](std::int64_t kind, std::uint64_t value) {
    Elf64_Dyn entry{};
    entry.d_tag = kind;
    entry.d_un.d_val = value;
    tags.push_back(entry);
  };
  for (const std::string& library : wanted.needed) tag(DT_NEEDED, name(library));
  if (!wanted.soname.empty()) tag(DT_SONAME, name(wanted.soname));
  std::string needs, defines;
  if (!wanted.needs.empty()) {
    Elf64_Verneed need{};
    need.vn_version = 1;
    need.vn_cnt = static_cast<Elf64_Half>(wanted.needs.size());
    need.vn_file = static_cast<Elf64_Word>(name(wanted.needed.front()));
    need.vn_aux = sizeof need;
    append(needs, need);
    for (std::size_t i = 0; i < wanted.needs.size(); ++i) {
      Elf64_Vernaux version{};
      version.vna_name = static_cast<Elf64_Word>(name(wanted.needs[i]));
      version.vna_next = i + 1 == wanted.needs.size() ? 0 : sizeof version;
      append(needs, version);
    }
  }
  std::vector<std::string> definitions = wanted.defines;
  if (!definitions.empty()) definitions.insert(definitions.begin(), wanted.soname);  // the base definition
  for (std::size_t i = 0; i < definitions.size(); ++i) {
    Elf64_Verdef definition{};
    definition.vd_version = 1;
    definition.vd_flags = i == 0 ? VER_FLG_BASE : 0;
    definition.vd_cnt = 1;
    definition.vd_aux = sizeof definition;
    definition.vd_next = i + 1 == definitions.size() ? 0 : sizeof definition + sizeof(Elf64_Verdaux);
    append(defines, definition);
    Elf64_Verdaux aux{};
    aux.vda_name = static_cast<Elf64_Word>(name(definitions[i]));
    append(defines, aux);
  }

  const bool dynamic = !tags.empty() || !needs.empty() || !defines.empty();
  const std::size_t segments = 1 + (dynamic ? 1 : 0) + (wanted.interpreter.empty() ? 0 : 1);
  const std::uint64_t body = sizeof(Elf64_Ehdr) + segments * sizeof(Elf64_Phdr);
  std::string data = wanted.interpreter.empty() ? "" : wanted.interpreter + '\0';
  const auto place = [&](const std::string& bytes) {
    data.resize((data.size() + 7) / 8 * 8);
    const std::uint64_t at = body + data.size();
    data += bytes;
    return at;
  };
  std::uint64_t dynamic_at = 0, dynamic_size = 0;
  if (dynamic) {
    tag(DT_STRTAB, place(strings));
    tag(DT_STRSZ, strings.size());
    if (!needs.empty()) {
      tag(DT_VERNEED, place(needs));
      tag(DT_VERNEEDNUM, 1);
    }
    if (!defines.empty()) {
      tag(DT_VERDEF, place(defines));
      tag(DT_VERDEFNUM, definitions.size());
    }
    tag(DT_NULL, 0);
    std::string table;
    for (const Elf64_Dyn& entry : tags) append(table, entry);
    dynamic_at = place(table);
    dynamic_size = table.size();
  }
  if (!wanted.text.empty()) data += '\0' + wanted.text + '\0';

  std::string bytes;
  Elf64_Ehdr header{};
  const unsigned char ident[EI_NIDENT] = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT};
  for (int i = 0; i < EI_NIDENT; ++i) header.e_ident[i] = ident[i];
  header.e_type = dynamic ? ET_DYN : ET_EXEC;
  header.e_machine = static_cast<Elf64_Half>(wanted.machine);
  header.e_version = EV_CURRENT;
  header.e_phoff = sizeof header;
  header.e_ehsize = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = static_cast<Elf64_Half>(segments);
  append(bytes, header);
  const auto segment = [&](std::uint32_t type, std::uint64_t at, std::uint64_t size) {
    Elf64_Phdr one{};
    one.p_type = type;
    one.p_offset = one.p_vaddr = one.p_paddr = at;
    one.p_filesz = one.p_memsz = size;
    append(bytes, one);
  };
  segment(PT_LOAD, 0, body + data.size());
  if (!wanted.interpreter.empty()) segment(PT_INTERP, body, wanted.interpreter.size() + 1);
  if (dynamic) segment(PT_DYNAMIC, dynamic_at, dynamic_size);
  return bytes + data;
}
