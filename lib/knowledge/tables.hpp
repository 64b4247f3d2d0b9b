// All tables of one Knowledge: each decoded when it is first asked for, from the compiled blob or from a file.
#pragma once

#include <mutex>
#include <tuple>

#include "knowledge/accelerator_rows.hpp"
#include "knowledge/compiled.hpp"
#include "knowledge/rows.hpp"

namespace imgforge {

namespace knowledge {

/// What one table keeps once it was asked for.
template <class RowType>
struct Slot {
  std::once_flag once;
  std::optional<TableOf<RowType>> table;
  bool from_file = false;  // set(), not the compiled form
  // What was picked out of the compiled form, without reading the rest.
  std::optional<Table> head;
  std::optional<std::vector<CompiledNode>> compiled_rows;
  std::map<std::size_t, RowType> picked;  // by number of the row
};

}  // namespace knowledge

struct Knowledge::Tables {
  template <class RowType>
  using Slot = knowledge::Slot<RowType>;

  /// The compiled tables; `blob` outlives this object. Nothing is decoded yet.
  explicit Tables(std::string_view blob) : compiled(blob) {}
  /// No tables; for what is going to be filled from files.
  Tables() = default;

  template <class RowType>
  const knowledge::TableOf<RowType>& get() const {
    auto& slot = std::get<Slot<RowType>>(slots);
    std::call_once(slot.once, [&] {
      if (!slot.table) slot.table = knowledge::decode<RowType>(compiled);
    });
    return *slot.table;
  }

  /// The table without its rows.
  template <class RowType>
  const knowledge::Table& head() const {
    auto& slot = std::get<Slot<RowType>>(slots);
    if (slot.from_file) return *slot.table;
    const std::lock_guard lock(picking);
    if (!slot.head) {
      slot.head = knowledge::decode<RowType>(compiled.table(knowledge::spec_of<RowType>().name).head());
    }
    return *slot.head;
  }

  /// The first row for which both hold: `may(texts)`, which sees no more than texts of the compiled row by their column
  /// (a CompiledNode), and `is(row)`. Only rows that may be the one are read. Null where there is none.
  template <class RowType, class May, class Is>
  const RowType* pick(May&& may, Is&& is) const {
    auto& slot = std::get<Slot<RowType>>(slots);
    if (slot.from_file) {
      const auto& rows = slot.table->rows;
      const auto found = std::find_if(rows.begin(), rows.end(), is);
      return found == rows.end() ? nullptr : &*found;
    }
    const std::lock_guard lock(picking);
    if (!slot.compiled_rows) slot.compiled_rows = compiled.table(knowledge::spec_of<RowType>().name).rows();
    for (std::size_t i = 0; i < slot.compiled_rows->size(); ++i) {
      const knowledge::CompiledNode& node = (*slot.compiled_rows)[i];
      if (!may(node)) continue;
      auto found = slot.picked.find(i);
      if (found == slot.picked.end()) found = slot.picked.emplace(i, knowledge::decode_row<RowType>(node)).first;
      if (is(found->second)) return &found->second;
    }
    return nullptr;
  }

  /// Takes the place of the table of that name. Not to be called once tables are asked for.
  template <class RowType>
  void set(knowledge::TableOf<RowType> table) {
    newest_read = std::max(newest_read, table.as_of);
    std::get<Slot<RowType>>(slots).table = std::move(table);
    std::get<Slot<RowType>>(slots).from_file = true;
  }

  /// Calls `visit(spec)` with the spec of every row type.
  template <class Visitor>
  static void for_each_spec(Visitor&& visit) {
    std::apply([&](auto*... row) { (visit(knowledge::spec_of<std::remove_pointer_t<decltype(row)>>()), ...); },
               RowTypes{});
  }

  template <class... Rows>
  struct ListOf {
    using Pointers = std::tuple<Rows*...>;
    using Slots = std::tuple<Slot<Rows>...>;
  };
  using List = ListOf<BeamRelease, knowledge::BehaviourRow, BeamImagePins, TpuType, PythonRelease, BaseImage,
                      BaseContent, LinuxRelease, FrameworkRelease, Installer, FrameworkBuild, knowledge::CudaImageGroup,
                      NgcImage, CudaRelease, CudnnRelease, GpuType, KnownIssue, PublishedImages>;
  using RowTypes = List::Pointers;

  knowledge::Compiled compiled;
  mutable List::Slots slots;
  mutable std::mutex picking;
  // cuda_images.yaml tag by tag, sorted by tag; made of its groups when first asked for.
  mutable std::once_flag cuda_images_once;
  mutable std::vector<CudaImage> cuda_images;
  mutable std::map<std::string, CudaImage, std::less<>> picked_cuda_images;
  bool custom = false;  // a folder was laid over
  Date newest_read;     // as_of of the tables that were set
  mutable std::once_flag version_once;
  mutable std::string version;
};

namespace knowledge {

/// Names of all tables, in the order of the row types.
std::vector<std::string> table_names();

/// Reads one file's text into its table, adding faults. `name` is the table that it has to be.
void load_table(std::string_view text, const std::string& file, std::string_view name, Knowledge::Tables& tables,
                std::vector<Diagnostic>& diagnostics);

/// Faults between tables: rows that name rows of another table that are not there.
std::vector<Diagnostic> cross_check(const Knowledge::Tables& tables);

/// Throws Error(knowledge) that lists the diagnostics, where there are any.
void throw_if_any(const std::vector<Diagnostic>& diagnostics);

/// The tables DIR/*.yaml, set into `tables`. Throws Error(knowledge) with every fault, those between tables included.
void lay_over(Knowledge::Tables& tables, const std::string& directory);

}  // namespace knowledge
}  // namespace imgforge
