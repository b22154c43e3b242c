// The name of a tensor, for messages.
#pragma once

#include <compare>
#include <memory>
#include <string>
#include <string_view>

namespace dashlm {

// Copies are cheap, since tensors are copied all the time: a literal is pointed to, and any other
// text is shared.
class TensorName {
 public:
  TensorName() = default;
  template <size_t kSize>
  TensorName(const char (&literal)[kSize]) : text_(literal) {}
  TensorName(std::string text)
      : owner_(std::make_shared<const std::string>(std::move(text))), text_(*owner_) {}

  std::string_view text() const { return text_; }
  operator std::string() const { return std::string(text_); }
  friend bool operator==(const TensorName& a, const TensorName& b) { return a.text_ == b.text_; }
  friend auto operator<=>(const TensorName& a, const TensorName& b) { return a.text_ <=> b.text_; }

 private:
  std::shared_ptr<const std::string> owner_;  // of the text, unless that is a literal
  std::string_view text_;
};

}  // namespace dashlm
