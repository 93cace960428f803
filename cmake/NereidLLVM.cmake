# LLVM and MLIR 19 as Debian packages them, and how our rooms link them.
# Defines the interface target `nereid_mlir`: headers, definitions and libraries.

# Debian's llvm-19-dev exports zstd::libzstd_shared without depending on the package that defines it.
if(NOT TARGET zstd::libzstd_shared)
  add_library(zstd::libzstd_shared SHARED IMPORTED)
  set_target_properties(zstd::libzstd_shared PROPERTIES
    IMPORTED_LOCATION /usr/lib/x86_64-linux-gnu/libzstd.so.1)
endif()

# LLVM's version file compares major and minor.
find_package(MLIR 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(nereid_mlir INTERFACE)
target_include_directories(nereid_mlir SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(nereid_mlir INTERFACE ${llvm_definitions})

if(NOT NEREID_STATIC_LLVM)
  target_link_libraries(nereid_mlir INTERFACE MLIR LLVM)
  return()
endif()

# Debian's MLIR archives carry the LLVM shared library in their link interface. Linked statically that
# would put two LLVMs into one process, which crashes in code generation (test/smoke holds this).
get_property(mlir_libraries GLOBAL PROPERTY MLIR_ALL_LIBS)
foreach(library ${mlir_libraries} MLIROptLib MLIRMlirOptMain)
  if(TARGET ${library})
    get_target_property(interface ${library} INTERFACE_LINK_LIBRARIES)
    if(interface)
      list(REMOVE_ITEM interface LLVM)
      set_target_properties(${library} PROPERTIES INTERFACE_LINK_LIBRARIES "${interface}")
    endif()
  endif()
endforeach()

# Every archive may stand on the link line: the linker takes only the members that something reaches.
llvm_map_components_to_libnames(llvm_components
  Core Support IRReader BitReader BitWriter Linker IPO Passes Target MC Object Analysis
  X86CodeGen X86AsmParser X86Desc X86Info NVPTXCodeGen NVPTXDesc NVPTXInfo)
set(mlir_archives)
foreach(library ${mlir_libraries} MLIRMlirOptMain)
  if(TARGET ${library})
    get_target_property(type ${library} TYPE)
    if(type STREQUAL "STATIC_LIBRARY" AND NOT library MATCHES "Test|ExecutionEngine|CAPI|SPIRV|ROCDL|AMX|SVE|SME|ArmNeon")
      list(APPEND mlir_archives ${library})
      # One of them asks whoever uses it to turn on -Wweak-vtables.
      set_target_properties(${library} PROPERTIES INTERFACE_COMPILE_OPTIONS "")
    endif()
  endif()
endforeach()
list(REMOVE_DUPLICATES mlir_archives)
target_link_libraries(nereid_mlir INTERFACE ${mlir_archives} ${llvm_components})
