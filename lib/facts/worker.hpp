// The interpreter that boot starts, and the Beam that it finds: reference, Beam's sdks/python/container/boot.go.
#pragma once

#include "facts/facts.hpp"
#include "facts/image_reader.hpp"

namespace imgforge {

/// Absent, with evidence, where boot would find none; unknown where what it finds cannot be told from a file.
Fact<WorkerPython> read_worker_python(ImageReader& reader);

/// apache-beam as that interpreter would import it; absent, too, where boot finds no interpreter.
Fact<Distribution> read_beam(ImageReader& reader);

/// apache-beam's version, else that of the SDK that boot came from, else what python or python3 have.
Fact<Version> read_beam_version(ImageReader& reader);

}  // namespace imgforge
