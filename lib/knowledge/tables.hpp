// All tables of one Knowledge: each decoded when it is first asked for, from the compiled blob or from a file.
#pragma once

#include <mutex>
#include <tuple>

#include "knowledge/accelerator_rows.hpp"
#include "knowledge/compiled.hpp"
#include "knowledge/rows.hpp"

namespace imgforge {

struct Knowledge::Tables {
  template <class RowType>
  struct Slot {
    std::once_flag once;
    std::optional<knowledge::TableOf<RowType>> table;
  };

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

  /// Takes the place of the table of that name. Not to be called once tables are asked for.
  template <class RowType>
  void set(knowledge::TableOf<RowType> table) {
    newest_read = std::max(newest_read, table.as_of);
    std::get<Slot<RowType>>(slots).table = std::move(table);
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
                      NgcImage, CudaRelease, CudnnRelease, GpuType, KnownIssue>;
  using RowTypes = List::Pointers;

  knowledge::Compiled compiled;
  mutable List::Slots slots;
  // cuda_images.yaml tag by tag, sorted by tag; made of its groups when first asked for.
  mutable std::once_flag cuda_images_once;
  mutable std::vector<CudaImage> cuda_images;
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
