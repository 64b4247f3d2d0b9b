# imgforge_room(NAME ROOMS below... LIBRARIES external...): lib/NAME/*.cpp as the static library imgforge_NAME.
# ROOMS are reached through each other; LIBRARIES stay inside the room.
function(imgforge_room name)
  cmake_parse_arguments(ROOM "" "" "ROOMS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/${name}/*.cpp)
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cpp "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/${name}_empty.cpp)
  endif()
  add_library(imgforge_${name} STATIC ${sources})
  target_link_libraries(imgforge_${name} PUBLIC imgforge_options nlohmann_json::nlohmann_json)
  target_link_libraries(imgforge_${name} PRIVATE fmt::fmt Threads::Threads ${ROOM_LIBRARIES})
  foreach(below IN LISTS ROOM_ROOMS)
    target_link_libraries(imgforge_${name} PUBLIC imgforge_${below})
  endforeach()
endfunction()

# imgforge_embed(TARGET SYMBOL FILE): FILE's bytes as read-only data of TARGET, between SYMBOL_begin and SYMBOL_end.
function(imgforge_embed target symbol file)
  set(assembly ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.S)
  file(CONFIGURE OUTPUT ${assembly} @ONLY CONTENT
[[    .section .rodata
    .balign 16
    .global @symbol@_begin
@symbol@_begin:
    .incbin "@file@"
    .global @symbol@_end
@symbol@_end:
    .byte 0
    .section .note.GNU-stack,"",%progbits
]])
  set_source_files_properties(${assembly} TARGET_DIRECTORY ${target} PROPERTIES OBJECT_DEPENDS ${file})
  target_sources(${target} PRIVATE ${assembly})
endfunction()
