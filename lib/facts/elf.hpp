// The ELF reader lives with the layers, where files stream past it.
#pragma once

#include "layer/elf_file.hpp"
