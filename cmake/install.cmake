# What `cmake --install` puts where: the program, the libraries as a package that
# find_package(dashlm) finds, configs, experiments, and the scripts that work without the sources.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(DATA ${CMAKE_INSTALL_DATADIR}/dashlm)
set(PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/dashlm)

install(TARGETS dashlm RUNTIME)

# dashlm_train becomes dashlm::train. Warnings and -march=native are of this build alone: users of
# the libraries get C++20, the folder of the headers and the libraries of libraries.cmake.
get_property(LIBRARIES GLOBAL PROPERTY DASHLM_LIBRARIES)
foreach(LIBRARY ${LIBRARIES})
  string(REPLACE dashlm_ "" NAME ${LIBRARY})
  set_target_properties(${LIBRARY} PROPERTIES EXPORT_NAME ${NAME})
endforeach()
install(TARGETS ${LIBRARIES} EXPORT dashlm ARCHIVE
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dashlm)
install(EXPORT dashlm NAMESPACE dashlm:: FILE dashlmTargets.cmake DESTINATION ${PACKAGE})

# Headers of backends are of the folder above them; those of commands are of the program.
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dashlm
  FILES_MATCHING PATTERN "*.h" PATTERN "cpu" EXCLUDE PATTERN "cuda" EXCLUDE PATTERN "mpi" EXCLUDE
  PATTERN "cli" EXCLUDE)
install(FILES src/cli/program.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/dashlm/cli)

configure_package_config_file(cmake/dashlmConfig.cmake.in ${PROJECT_BINARY_DIR}/dashlmConfig.cmake
  INSTALL_DESTINATION ${PACKAGE})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/dashlmConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/dashlmConfig.cmake
  ${PROJECT_BINARY_DIR}/dashlmConfigVersion.cmake cmake/libraries.cmake DESTINATION ${PACKAGE})

install(DIRECTORY configs experiments DESTINATION ${DATA}
  FILES_MATCHING PATTERN "*.json" PATTERN "results" EXCLUDE)
install(PROGRAMS scripts/hf_loss.py scripts/make_corpus.py scripts/preset.sh scripts/report.py
  scripts/reproduce.py scripts/runtime_table.py DESTINATION ${DATA}/scripts)
install(DIRECTORY scripts/experiments scripts/launch scripts/reporting scripts/runtimes
  DESTINATION ${DATA}/scripts USE_SOURCE_PERMISSIONS PATTERN "__pycache__" EXCLUDE)
install(FILES CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
