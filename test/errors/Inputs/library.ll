declare float @my_function(float)

define float @of_two(float %x, double %y) {
  ret float %x
}

define float @of_structure(ptr byval({ float, float }) %pair) {
  %x = load float, ptr %pair
  ret float %x
}
