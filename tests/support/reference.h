// The operations of src/ops once more, in float64 and as plainly as they can be written. Matrices
// are row-major; the meaning and the shapes are those of the operations' own headers.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace dashlm::testing::reference {

using Doubles = std::vector<double>;
using Ints = std::vector<int32_t>;

inline size_t at(int64_t i) {
  return static_cast<size_t>(i);
}

// op(A) (m, k) · op(B) (k, n)
inline Doubles matmul(const Doubles& a, const Doubles& b, int64_t m, int64_t n, int64_t k,
                      bool transpose_a = false, bool transpose_b = false) {
  Doubles c(at(m * n));
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double total = 0;
      for (int64_t l = 0; l < k; ++l) {
        total +=
            a[at(transpose_a ? l * m + i : i * k + l)] * b[at(transpose_b ? j * k + l : l * n + j)];
      }
      c[at(i * n + j)] = total;
    }
  }
  return c;
}

inline Doubles embedding(const Doubles& table, const Ints& tokens, int64_t width) {
  Doubles out;
  for (const int32_t token : tokens) {
    for (int64_t j = 0; j < width; ++j) out.push_back(table[at(token * width + j)]);
  }
  return out;
}

inline Doubles rms_norm(const Doubles& x, const Doubles& weight, double eps) {
  const size_t width = weight.size();
  Doubles out(x.size());
  for (size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (size_t j = 0; j < width; ++j) squares += x[row + j] * x[row + j];
    const double rms = std::sqrt(squares / static_cast<double>(width) + eps);
    for (size_t j = 0; j < width; ++j) out[row + j] = x[row + j] / rms * weight[j];
  }
  return out;
}

struct RmsNormGradient {
  Doubles x, weight;
};

// y_j = w_j x_j / r with r = sqrt(mean(x²) + eps), and dr/dx_i = x_i / (width · r).
inline RmsNormGradient rms_norm_backward(const Doubles& d_out, const Doubles& x,
                                         const Doubles& weight, double eps) {
  const size_t width = weight.size();
  RmsNormGradient d{Doubles(x.size()), Doubles(width)};
  for (size_t row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (size_t j = 0; j < width; ++j) squares += x[row + j] * x[row + j];
    const double rms = std::sqrt(squares / static_cast<double>(width) + eps);
    double d_rms = 0;
    for (size_t j = 0; j < width; ++j) {
      d_rms -= d_out[row + j] * weight[j] * x[row + j] / (rms * rms);
      d.weight[j] += d_out[row + j] * x[row + j] / rms;
    }
    for (size_t j = 0; j < width; ++j) {
      d.x[row + j] = d_out[row + j] * weight[j] / rms +
                     d_rms * x[row + j] / (static_cast<double>(width) * rms);
    }
  }
  return d;
}

// x (batch, length, all_heads, width): the first `heads` heads are rotated by `sign` · angle.
inline Doubles rope(Doubles x, int64_t length, int64_t all_heads, int64_t width, int64_t heads,
                    double theta, int64_t first_position = 0, double sign = 1) {
  const int64_t row = all_heads * width;
  for (int64_t i = 0; i < static_cast<int64_t>(x.size()) / row; ++i) {
    const auto position = static_cast<double>(first_position + i % length);
    for (int64_t head = 0; head < heads; ++head) {
      for (int64_t j = 0; j < width; j += 2) {
        const double angle =
            sign * position * std::pow(theta, -static_cast<double>(j) / static_cast<double>(width));
        double& a = x[at(i * row + head * width + j)];
        double& b = x[at(i * row + head * width + j + 1)];
        const double rotated = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = rotated;
      }
    }
  }
  return x;
}

// Sizes of attention, and where things lie in qkv (B, T, H + 2G, h) and out (B, T, H, h).
struct Heads {
  int64_t batch, length, query, key_value, width;

  int64_t all() const { return query + 2 * key_value; }
  int64_t of_query(int64_t b, int64_t t, int64_t head) const {
    return ((b * length + t) * all() + head) * width;
  }
  int64_t of_key(int64_t b, int64_t t, int64_t head) const {
    return of_query(b, t, query + head / (query / key_value));
  }
  int64_t of_value(int64_t b, int64_t t, int64_t head) const {
    return of_query(b, t, query + key_value + head / (query / key_value));
  }
  int64_t of_out(int64_t b, int64_t t, int64_t head) const {
    return ((b * length + t) * query + head) * width;
  }
  int64_t of_lse(int64_t b, int64_t t, int64_t head) const {
    return (b * query + head) * length + t;
  }
};

inline double dot(const Doubles& a, int64_t a_at, const Doubles& b, int64_t b_at, int64_t count) {
  double total = 0;
  for (int64_t j = 0; j < count; ++j) total += a[at(a_at + j)] * b[at(b_at + j)];
  return total;
}

// Attention weights of one query over positions 0 to t, and the log-sum-exp of its scores.
inline Doubles attention_row(const Doubles& qkv, const Heads& s, int64_t b, int64_t t, int64_t head,
                             double& log_sum_exp) {
  Doubles p;
  for (int64_t j = 0; j <= t; ++j) {
    p.push_back(dot(qkv, s.of_query(b, t, head), qkv, s.of_key(b, j, head), s.width) /
                std::sqrt(static_cast<double>(s.width)));
  }
  const double max = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (const double score : p) sum += std::exp(score - max);
  log_sum_exp = max + std::log(sum);
  for (double& score : p) score = std::exp(score - log_sum_exp);
  return p;
}

struct Attention {
  Doubles out, log_sum_exp;
};

inline Attention attention(const Doubles& qkv, const Heads& s) {
  Attention result{Doubles(at(s.batch * s.length * s.query * s.width)),
                   Doubles(at(s.batch * s.length * s.query))};
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t head = 0; head < s.query; ++head) {
      for (int64_t t = 0; t < s.length; ++t) {
        const Doubles p =
            attention_row(qkv, s, b, t, head, result.log_sum_exp[at(s.of_lse(b, t, head))]);
        for (int64_t j = 0; j <= t; ++j) {
          for (int64_t e = 0; e < s.width; ++e) {
            result.out[at(s.of_out(b, t, head) + e)] +=
                p[at(j)] * qkv[at(s.of_value(b, j, head) + e)];
          }
        }
      }
    }
  }
  return result;
}

// With P the weights, dP = dO·Vᵀ and dS = P ⊙ (dP - rowsum(P ⊙ dP)): dV = Pᵀ·dO, dQ = dS·K/√h,
// dK = dSᵀ·Q/√h.
inline Doubles attention_backward(const Doubles& d_out, const Doubles& qkv, const Heads& s) {
  Doubles d(qkv.size());
  const double scale = 1 / std::sqrt(static_cast<double>(s.width));
  for (int64_t b = 0; b < s.batch; ++b) {
    for (int64_t head = 0; head < s.query; ++head) {
      for (int64_t t = 0; t < s.length; ++t) {
        double unused = 0;
        const Doubles p = attention_row(qkv, s, b, t, head, unused);
        const int64_t q = s.of_query(b, t, head), o = s.of_out(b, t, head);
        Doubles d_p;
        double mean = 0;
        for (int64_t j = 0; j <= t; ++j) {
          d_p.push_back(dot(d_out, o, qkv, s.of_value(b, j, head), s.width));
          mean += p[at(j)] * d_p.back();
        }
        for (int64_t j = 0; j <= t; ++j) {
          const double d_score = p[at(j)] * (d_p[at(j)] - mean) * scale;
          const int64_t k = s.of_key(b, j, head), v = s.of_value(b, j, head);
          for (int64_t e = 0; e < s.width; ++e) {
            d[at(q + e)] += d_score * qkv[at(k + e)];
            d[at(k + e)] += d_score * qkv[at(q + e)];
            d[at(v + e)] += p[at(j)] * d_out[at(o + e)];
          }
        }
      }
    }
  }
  return d;
}

inline double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

inline Doubles swiglu(const Doubles& gate_up, int64_t width) {
  Doubles out;
  for (size_t row = 0; row < gate_up.size(); row += at(2 * width)) {
    for (size_t j = 0; j < at(width); ++j) {
      const double gate = gate_up[row + j], up = gate_up[row + at(width) + j];
      out.push_back(gate * sigmoid(gate) * up);
    }
  }
  return out;
}

inline Doubles swiglu_backward(const Doubles& d_out, const Doubles& gate_up, int64_t width) {
  Doubles d(gate_up.size());
  size_t i = 0;
  for (size_t row = 0; row < gate_up.size(); row += at(2 * width)) {
    for (size_t j = 0; j < at(width); ++j, ++i) {
      const double gate = gate_up[row + j], up = gate_up[row + at(width) + j];
      const double s = sigmoid(gate), slope = s + gate * s * sigmoid(-gate);
      d[row + j] = d_out[i] * up * slope;
      d[row + at(width) + j] = d_out[i] * gate * s;
    }
  }
  return d;
}

struct CrossEntropy {
  Doubles losses, gradient;
};

inline CrossEntropy cross_entropy(const Doubles& logits, const Ints& targets, double scale) {
  const size_t width = logits.size() / targets.size();
  CrossEntropy result{Doubles(targets.size()), Doubles(logits.size())};
  for (size_t i = 0; i < targets.size(); ++i) {
    if (targets[i] < 0) continue;
    const double* row = logits.data() + i * width;
    const auto target = static_cast<size_t>(targets[i]);
    const double max = *std::max_element(row, row + width);
    double sum = 0;
    for (size_t j = 0; j < width; ++j) sum += std::exp(row[j] - max);
    result.losses[i] = max - row[target] + std::log(sum);
    for (size_t j = 0; j < width; ++j) {
      const double p = std::exp(row[j] - max) / sum;
      result.gradient[i * width + j] = scale * (p - (j == target ? 1 : 0));
    }
  }
  return result;
}

}  // namespace dashlm::testing::reference
