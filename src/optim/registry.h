// The optimizers by name: what "optimizer": {"type": …} in a config chooses from.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "optim/optimizer.h"

namespace dashlm {

// Settings of any optimizer, as a value. as<S>() is null unless they are of type S.
class AnyOptimizerSettings {
 public:
  template <OptimizerSettings S>
  AnyOptimizerSettings(S settings) : held_(std::make_unique<Held<S>>(std::move(settings))) {}
  AnyOptimizerSettings(const AnyOptimizerSettings& other) : held_(other.held_->copy()) {}
  AnyOptimizerSettings(AnyOptimizerSettings&&) noexcept = default;
  AnyOptimizerSettings& operator=(AnyOptimizerSettings other) noexcept {
    held_ = std::move(other.held_);
    return *this;
  }

  template <class S>
  S* as() {
    auto* held = dynamic_cast<Held<S>*>(held_.get());
    return held ? &held->settings : nullptr;
  }
  template <class S>
  const S* as() const {
    return const_cast<AnyOptimizerSettings*>(this)->as<S>();
  }

  void describe(Schema& schema) { held_->describe(schema); }
  BlockCut cut() const { return held_->cut(); }
  double cost(const Block& block) const { return held_->cost(block); }
  std::vector<std::string> warnings(int64_t steps) const { return held_->warnings(steps); }
  std::unique_ptr<Optimizer> make(OptimizerParts parts) const {
    return held_->make(std::move(parts));
  }

 private:
  struct Holder {
    virtual ~Holder() = default;
    virtual std::unique_ptr<Holder> copy() const = 0;
    virtual void describe(Schema& schema) = 0;
    virtual BlockCut cut() const = 0;
    virtual double cost(const Block& block) const = 0;
    virtual std::vector<std::string> warnings(int64_t steps) const = 0;
    virtual std::unique_ptr<Optimizer> make(OptimizerParts parts) const = 0;
  };
  template <class S>
  struct Held final : Holder {
    explicit Held(S value) : settings(std::move(value)) {}
    std::unique_ptr<Holder> copy() const override { return std::make_unique<Held>(settings); }
    void describe(Schema& schema) override { settings.describe(schema); }
    BlockCut cut() const override { return settings.cut(); }
    double cost(const Block& block) const override { return settings.cost(block); }
    std::vector<std::string> warnings(int64_t steps) const override {
      return settings.warnings(steps);
    }
    std::unique_ptr<Optimizer> make(OptimizerParts parts) const override {
      return settings.make(std::move(parts));
    }

    S settings;
  };

  std::unique_ptr<Holder> held_;
};

// The names, in the order of the registry; the first one is the default.
std::vector<std::string> optimizer_types();
// The settings that `type` starts from. Throws an input Error for a name that nobody registered.
AnyOptimizerSettings default_settings(const std::string& type);

// Adds an optimizer, so that configs may name it; to be called before a config is read. Throws an
// input Error if the name is taken.
void register_optimizer(const std::string& type, AnyOptimizerSettings defaults);

}  // namespace dashlm
