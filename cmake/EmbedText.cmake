# cmake -DINPUT=... -DOUTPUT=... -P EmbedText.cmake: a file as the initialisers of a char array.
file(READ ${INPUT} hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" lines "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "char(0x\\1)," bytes "${lines}")
file(WRITE ${OUTPUT} "${bytes}\n")
