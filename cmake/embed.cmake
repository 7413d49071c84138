# cmake -DROOT=… -DLIST=… -DOUT=… -P embed.cmake: the files that LIST names, one path below ROOT per line, as string
# literals in one C++ source.
file(STRINGS ${LIST} paths)
file(WRITE ${OUT}.new "// Made by cmake/embed.cmake.\n#include \"codegen/carried.h\"\n\nnamespace plimsoll {\nnamespace {\n\nconst CarriedFile kFiles[] = {\n")
foreach(path IN LISTS paths)
  file(READ ${ROOT}/${path} contents)
  file(APPEND ${OUT}.new "{\"${path}\", R\"~~~(${contents})~~~\"},\n")
endforeach()
file(APPEND ${OUT}.new "};\n\n}  // namespace\n\nstd::span<const CarriedFile> carried_files() { return kFiles; }\n\n}  // namespace plimsoll\n")
file(RENAME ${OUT}.new ${OUT})
