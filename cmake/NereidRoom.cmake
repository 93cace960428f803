# nereid_room(NAME [MLIR] [DEPENDS room...] [LIBRARIES target...])
# One room of the house: every .cpp file in its folder. MLIR rooms share one precompiled header.
function(nereid_room name)
  cmake_parse_arguments(ROOM "MLIR" "" "DEPENDS;LIBRARIES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cpp)
  if(NOT sources)
    add_library(nereid_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(nereid_${name} STATIC ${sources})
    set(scope PUBLIC)
    nereid_flags(nereid_${name})
  endif()
  target_include_directories(nereid_${name} ${scope} ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include
                             ${CMAKE_BINARY_DIR}/src)
  foreach(room ${ROOM_DEPENDS})
    target_link_libraries(nereid_${name} ${scope} nereid_${room})
  endforeach()
  if(ROOM_LIBRARIES)
    target_link_libraries(nereid_${name} ${scope} ${ROOM_LIBRARIES})
  endif()
  if(ROOM_MLIR)
    set_target_properties(nereid_${name} PROPERTIES NEREID_USES_MLIR ON)
    target_link_libraries(nereid_${name} ${scope} nereid_mlir)
    if(sources AND NEREID_PCH)
      target_precompile_headers(nereid_${name} REUSE_FROM nereid_pch)
    endif()
  endif()
endfunction()

if(NEREID_SANITIZE)
  add_library(nereid_sanitizer_options OBJECT ${CMAKE_SOURCE_DIR}/cmake/SanitizerOptions.c)
endif()

# nereid_flags(TARGET [TEXT_OF_TESTS] [BATCH n]): warnings and sanitizers for our own code. Rooms that share the precompiled header must share these flags.
# Initializers that name some fields and leave the others to their defaults are our style. What is
# deprecated is what libstdc++ 12 calls in its own std::stable_sort. The text of tests is no place that a fuzzer has to
# reach: it carries no coverage.
function(nereid_flags target)
  cmake_parse_arguments(FLAGS "TEXT_OF_TESTS" "BATCH" "" ${ARGN})
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-unused-parameter
                         -Wno-missing-designated-field-initializers -Wno-deprecated-declarations -Werror=return-type
                         -ffunction-sections -fdata-sections)
  if(NEREID_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${NEREID_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${NEREID_SANITIZE})
    get_target_property(type ${target} TYPE)
    if(type STREQUAL EXECUTABLE)
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:nereid_sanitizer_options>)
    endif()
  endif()
  if(NEREID_FUZZ AND NOT FLAGS_TEXT_OF_TESTS)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  # Six files are one to the compiler: headers and templates that they share are read and compiled once. Names without
  # linkage are therefore unique in a room.
  if(NEREID_UNITY)
    if(NOT FLAGS_BATCH)
      set(FLAGS_BATCH 6)
    endif()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${FLAGS_BATCH})
  endif()
endfunction()

# nereid_tablegen(OUTPUT source.td flags...): run mlir-tblgen into the build tree.
function(nereid_tablegen output source)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  file(GLOB all_td CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/*/*.td)
  add_custom_command(
    OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${output}
    COMMAND /usr/lib/llvm-19/bin/mlir-tblgen ${ARGN} ${CMAKE_CURRENT_SOURCE_DIR}/${source}
            -I ${CMAKE_SOURCE_DIR}/src -I /usr/lib/llvm-19/include
            -o ${CMAKE_CURRENT_BINARY_DIR}/${output}
    DEPENDS ${all_td}
    COMMENT "tablegen ${output}")
  set_property(DIRECTORY APPEND PROPERTY NEREID_GENERATED ${CMAKE_CURRENT_BINARY_DIR}/${output})
endfunction()

# nereid_embed(TARGET file OUTPUT.inc): a text becomes the initialisers of an array of characters, which a source of the
# target includes.
function(nereid_embed target input output)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/${output})
  set(script ${CMAKE_SOURCE_DIR}/cmake/EmbedText.cmake)
  add_custom_command(
    OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_CURRENT_SOURCE_DIR}/${input} -DOUTPUT=${made} -P ${script}
    DEPENDS ${input} ${script}
    COMMENT "embed ${input}")
  target_sources(${target} PRIVATE ${made})
endfunction()

# nereid_rooms_of(OUT library...): the archives of our rooms that the libraries need, themselves included.
function(nereid_rooms_of out)
  set(waiting ${ARGN})
  set(found)
  while(waiting)
    list(POP_FRONT waiting one)
    if(NOT TARGET ${one} OR one IN_LIST found OR NOT one MATCHES "^(nereid_|ptx_machine)")
      continue()
    endif()
    get_target_property(type ${one} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND found ${one})
    endif()
    get_target_property(needed ${one} INTERFACE_LINK_LIBRARIES)
    if(needed)
      list(APPEND waiting ${needed})
    endif()
  endwhile()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# nereid_plain_text(NAME library...): the program's own text, tests, is compiled without optimisation, in a third of the time.
# An inline function that the text and a room both have is then the room's, as it ships: whole rooms stand first on the link line,
# and of several copies the linker keeps the first. The precompiled header is that of optimised code, which Clang takes unchecked.
function(nereid_plain_text name)
  target_compile_options(${name} PRIVATE -O0 -Xclang -fno-validate-pch)
  nereid_rooms_of(rooms ${ARGN})
  list(TRANSFORM rooms REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  list(JOIN rooms " " rooms)
  target_link_options(${name} BEFORE PRIVATE "SHELL:-Wl,--whole-archive ${rooms} -Wl,--no-whole-archive")
endfunction()

# nereid_use_pch(NAME): the files of a program share the precompiled header of the MLIR rooms.
function(nereid_use_pch name)
  if(NEREID_PCH)
    # The header is compiled as position-independent library code; a program must be compiled the same way.
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIC)
    target_precompile_headers(${name} REUSE_FROM nereid_pch)
  endif()
endfunction()

# nereid_executable(NAME ROOMS room... [SOURCES file...] [BATCH n]): a program of ours. The shipped build drops what
# nothing reaches and hides every symbol of LLVM: two LLVMs in one process crash.
function(nereid_executable name)
  cmake_parse_arguments(PROGRAM "" "BATCH" "ROOMS;SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} ${PROGRAM_SOURCES})
  nereid_flags(${name} BATCH ${PROGRAM_BATCH})
  foreach(room ${PROGRAM_ROOMS})
    target_link_libraries(${name} PRIVATE nereid_${room})
  endforeach()
  target_link_libraries(${name} PRIVATE ${PROGRAM_LIBRARIES})
  nereid_link_flags(${name})
endfunction()

# How programs are linked; also for targets that are made without nereid_executable.
function(nereid_link_flags name)
  target_link_options(${name} PRIVATE -Wl,--gc-sections -Wl,--as-needed -Wl,--build-id=fast)
  if(NEREID_STATIC_LLVM)
    target_link_options(${name} PRIVATE -Wl,--icf=all -Wl,--exclude-libs,ALL -static-libstdc++ -s)
    # An exception that passes from a library into a program is unwound by one unwinder: that of the process.
    get_target_property(type ${name} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
      target_link_options(${name} PRIVATE -shared-libgcc)
    else()
      target_link_options(${name} PRIVATE -static-libgcc)
    endif()
  endif()
endfunction()
