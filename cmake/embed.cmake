# cmake -DROOT=… -DLIST=… -DHEADER=… -DFUNCTION=… -DOUT=… -P embed.cmake: writes the files that LIST names, one path
# below ROOT per line, as string literals into one C++ source, which defines FUNCTION as HEADER declares it.
file(STRINGS ${LIST} paths)
file(WRITE ${OUT}.new
  "// Made by cmake/embed.cmake.\n#include \"${HEADER}\"\n\n"
  "namespace plimsoll {\nnamespace {\n\nconst EmbeddedFile kFiles[] = {\n")
foreach(path IN LISTS paths)
  file(READ ${ROOT}/${path} contents)
  file(APPEND ${OUT}.new "{\"${path}\", R\"~~~(${contents})~~~\"},\n")
endforeach()
file(APPEND ${OUT}.new
  "};\n\n}  // namespace\n\n"
  "std::span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }\n\n}  // namespace plimsoll\n")
file(RENAME ${OUT}.new ${OUT})
