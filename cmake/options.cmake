# Compiler settings that every target of this project shares.
add_library(imgforge_options INTERFACE)
target_include_directories(imgforge_options INTERFACE ${PROJECT_SOURCE_DIR}/lib)
target_compile_options(imgforge_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  -Woverloaded-virtual -Wformat=2 -Wimplicit-fallthrough
  -Wno-missing-field-initializers)  # designated initialisers leave out what has its default
target_compile_definitions(imgforge_options INTERFACE IMGFORGE_VERSION="${PROJECT_VERSION}")
if(IMGFORGE_WERROR)
  target_compile_options(imgforge_options INTERFACE -Werror)
endif()
if(IMGFORGE_SANITIZE OR IMGFORGE_FUZZ)
  target_compile_definitions(imgforge_options INTERFACE _GLIBCXX_ASSERTIONS)  # an empty optional, an index too far
endif()
if(IMGFORGE_SANITIZE)
  target_compile_options(imgforge_options INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(imgforge_options INTERFACE -fsanitize=address,undefined)
endif()
if(IMGFORGE_FUZZ)
  target_compile_options(imgforge_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(imgforge_options INTERFACE -fsanitize=address,undefined)
endif()
