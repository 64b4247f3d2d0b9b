// What each table's rows may hold: one list of columns per row type, and the row types that only look-ups see.
#pragma once

#include "knowledge/table.hpp"

namespace imgforge::knowledge {

/// From which release on boot or the SDK behaves in a way. knowledge/beam_behaviour.yaml
struct BehaviourRow : Row {
  BeamBehaviour behaviour = BeamBehaviour::pip_on_path;
  Version since;
  std::string about;  // one sentence for people
};

std::string_view to_string(BeamBehaviour behaviour) noexcept;
constexpr std::size_t behaviour_count = 9;

/// The columns of a row type; defined for every row type of a table.
template <class RowType>
const TableSpec<RowType>& spec_of();
template <>
const TableSpec<BeamRelease>& spec_of();
template <>
const TableSpec<BehaviourRow>& spec_of();
template <>
const TableSpec<BeamImagePins>& spec_of();
template <>
const TableSpec<TpuType>& spec_of();
template <>
const TableSpec<PythonRelease>& spec_of();
template <>
const TableSpec<BaseImage>& spec_of();
template <>
const TableSpec<BaseContent>& spec_of();
template <>
const TableSpec<LinuxRelease>& spec_of();
template <>
const TableSpec<FrameworkRelease>& spec_of();
template <>
const TableSpec<Installer>& spec_of();

}  // namespace imgforge::knowledge
