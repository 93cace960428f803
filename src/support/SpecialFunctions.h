// Functions that a kernel may ask for and no C library has, in double precision: what the
// interpreter means by them and what CPU code calls.
//
// Errors are a few ulp of a double over the whole range (test/unit/engine/LibdeviceTest.cpp), so a
// float that is rounded from one is off by at most one ulp.
#pragma once

namespace nereid::special {

namespace detail {
template <int arguments> struct Signature;
template <> struct Signature<1> {
  using Type = double(double);
};
template <> struct Signature<2> {
  using Type = double(double, double);
};
template <> struct Signature<3> {
  using Type = double(double, double, double);
};
template <> struct Signature<4> {
  using Type = double(double, double, double, double);
};
} // namespace detail

// `name_rz`, `name_ru` and `name_rd` round towards zero, up and down; `narrow` does so to a float.
// Integer arguments (of jn, yn, ldexp, powi) are doubles that hold one.
#define SPECIAL(arguments, name) detail::Signature<arguments>::Type name;
#include "support/SpecialFunctions.def"

} // namespace nereid::special
