# Prints name and version of those of the packages named as arguments that R has, one a line; loads none of them.
for (package in commandArgs(trailingOnly = TRUE)) {
  if (nzchar(system.file(package = package))) {
    cat(package, as.character(utils::packageVersion(package)), "\n")
  }
}
