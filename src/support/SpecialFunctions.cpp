#include "support/SpecialFunctions.h"

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <math.h>

namespace nereid::special {
namespace {

constexpr double pi = 3.14159265358979323846, rootHalf = 0.70710678118654752440;
constexpr double slopeOfErf = 1.12837916709551257390; // 2 / sqrt(pi)

// The inverse of erf where it is steep, 0 <= y <= 0.5, by Halley's steps.
double inverseNearZero(double y) {
  double x = y / slopeOfErf;
  for (int i = 0; i < 4; ++i) {
    double error = (std::erf(x) - y) / (slopeOfErf * std::exp(-x * x));
    x -= error / (1 + x * error);
  }
  return x;
}

// The quantile of the normal distribution for 0 < q < 0.5: a rational start, then the same steps on
// the logarithm's scale of erfc.
double lowerQuantile(double q) {
  double t = std::sqrt(-2 * std::log(q));
  double x = -(t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                       (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))));
  for (int i = 0; i < 8; ++i) {
    double density = std::exp(-x * x / 2) / std::sqrt(2 * pi);
    if (density == 0)
      break;
    double step = (normcdf(x) - q) / density;
    x -= step / (1 + x * step / 2);
  }
  return x;
}

// The modified Bessel function of the first kind, by its power series: all terms have one sign.
double besselSeries(unsigned order, double x) {
  long double square = (long double)(x)*x / 4, term = order ? x / 2.0L : 1.0L, sum = term;
  for (unsigned k = 1; k < 2000 && std::fabs(term) > 1e-22L * std::fabs(sum); ++k) {
    term *= square / (k * (long double)(k + order));
    sum += term;
  }
  return double(sum);
}

// sin(pi r) for a reduced |r| <= 1/2.
double sinOfTurns(double r) {
  return std::fabs(r) <= 0.25 ? std::sin(pi * r)
                              : std::copysign(std::cos(pi * (0.5 - std::fabs(r))), r);
}

// Runs `compute` under a rounding mode of the host. Operands and result are volatile, so that
// nothing is computed outside of it.
template <typename Result = double, typename Compute, typename... T>
double rounded(int mode, Compute compute, T... operands) {
  int before = std::fegetround();
  std::fesetround(mode);
  volatile Result result = Result(compute((volatile T &)(operands)...));
  std::fesetround(before);
  return result;
}

} // namespace

double cyl_bessel_i0(double x) { return besselSeries(0, x); }
double cyl_bessel_i1(double x) { return besselSeries(1, x); }

double normcdf(double x) {
  // erfc is steep far out, so the rounding of its argument counts.
  double t = -x * rootHalf;
  if (!std::isfinite(t))
    return 0.5 * std::erfc(t);
  constexpr double rest = -4.8336466567264567e-17; // of rootHalf
  double lost = std::fma(-x, rootHalf, -t) - x * rest;
  return 0.5 * (std::erfc(t) - lost * slopeOfErf * std::exp(-t * t));
}

double normcdfinv(double p) {
  if (!(p >= 0 && p <= 1))
    return NAN;
  if (p == 0 || p == 1)
    return p == 0 ? -INFINITY : INFINITY;
  if (std::fabs(p - 0.5) < 0.25) // where 2 p - 1 is exact
    return erfinv(2 * p - 1) / rootHalf;
  return p < 0.5 ? lowerQuantile(p) : -lowerQuantile(1 - p);
}

double erfinv(double y) {
  double magnitude = std::fabs(y);
  if (!(magnitude <= 1))
    return NAN;
  if (magnitude == 1)
    return std::copysign(INFINITY, y);
  double x = magnitude <= 0.5 ? inverseNearZero(magnitude)
                              : -lowerQuantile((1 - magnitude) / 2) * rootHalf;
  return std::copysign(x, y);
}

double erfcinv(double y) {
  if (!(y >= 0 && y <= 2))
    return NAN;
  if (y >= 0.5 && y <= 1.5)
    return erfinv(1 - y);
  return -normcdfinv(y / 2) * rootHalf;
}

double erfcx(double x) {
  if (x < 26) {
    double square = x * x, lost = std::fma(x, x, -square);
    double factor = std::exp(square);
    return std::isfinite(factor) ? factor * (1 + lost) * std::erfc(x) : factor;
  }
  double s = 1 / (x * x), sum = 1;
  for (int k = 8; k > 0; --k)
    sum = 1 - (k - 0.5) * s * sum;
  return sum / (x * std::sqrt(pi));
}

double rcbrt(double x) { return 1 / std::cbrt(x); }

// The reduction is exact, so that sinpi(n) is 0.
double sinpi(double x) {
  double r = std::remainder(x, 2.0); // -1 <= r <= 1
  if (r == 0 || std::fabs(r) == 1)
    return std::copysign(0.0, x);
  if (std::fabs(r) > 0.5)
    r = std::copysign(1 - std::fabs(r), r);
  return sinOfTurns(r);
}
double cospi(double x) {
  double r = std::fabs(std::remainder(x, 2.0));
  return r == 0.5 ? 0.0 : sinOfTurns(0.5 - r);
}

double exp10(double x) { return std::pow(10.0, x); }

double ilogb(double x) { return std::ilogb(x); }

double jn(double n, double x) { return ::jn(int(n), x); }
double yn(double n, double x) { return ::yn(int(n), x); }

double ldexp(double x, double n) { return std::ldexp(x, int(std::clamp(n, -5000.0, 5000.0))); }

double powi(double x, double n) { return std::pow(x, n); }

double norm3d(double x, double y, double z) { return std::hypot(x, y, z); }
double norm4d(double x, double y, double z, double w) {
  return std::hypot(std::hypot(x, y), std::hypot(z, w));
}
double rhypot(double x, double y) { return 1 / std::hypot(x, y); }
double rnorm3d(double x, double y, double z) { return 1 / norm3d(x, y, z); }
double rnorm4d(double x, double y, double z, double w) { return 1 / norm4d(x, y, z, w); }

#define IN_MODE(suffix, mode)                                                                      \
  double add_##suffix(double x, double y) {                                                        \
    return rounded(mode, [](double a, double b) { return a + b; }, x, y);                          \
  }                                                                                                \
  double mul_##suffix(double x, double y) {                                                        \
    return rounded(mode, [](double a, double b) { return a * b; }, x, y);                          \
  }                                                                                                \
  double div_##suffix(double x, double y) {                                                        \
    return rounded(mode, [](double a, double b) { return a / b; }, x, y);                          \
  }                                                                                                \
  double sqrt_##suffix(double x) {                                                                 \
    return rounded(mode, [](double a) { return std::sqrt(a); }, x);                                \
  }                                                                                                \
  double fma_##suffix(double x, double y, double z) {                                              \
    return rounded(mode, [](double a, double b, double c) { return std::fma(a, b, c); }, x, y, z); \
  }                                                                                                \
  double narrow_##suffix(double x) {                                                               \
    return rounded<float>(mode, [](double a) { return a; }, x);                                    \
  }
IN_MODE(rz, FE_TOWARDZERO)
IN_MODE(ru, FE_UPWARD)
IN_MODE(rd, FE_DOWNWARD)
#undef IN_MODE

} // namespace nereid::special
