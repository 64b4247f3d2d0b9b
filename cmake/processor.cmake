# Whether the target is x86-64, which is where Debian packages ISA-L.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(IMGFORGE_IS_X86_64 ON)
else()
  set(IMGFORGE_IS_X86_64 OFF)
endif()
