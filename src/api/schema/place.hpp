// Where a value stands in a document, spelled out only when somebody asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::api::schema {

// A place refers to the place above it and to the member's name, which must outlive it.
class place {
   public:
    place() = default;
    [[nodiscard]] place member(std::string_view name) const { return {this, step::member, name, 0}; }
    [[nodiscard]] place item(std::size_t index) const { return {this, step::item, {}, index}; }
    [[nodiscard]] bool is_root() const { return above_ == nullptr; }
    [[nodiscard]] std::string path() const;

   private:
    enum class step : std::uint8_t { root, member, item };
    place(const place* above, step s, std::string_view name, std::size_t index)
        : above_(above), name_(name), index_(index), step_(s) {}

    const place* above_ = nullptr;
    std::string_view name_{};
    std::size_t index_ = 0;
    step step_ = step::root;
};

}  // namespace cotrain::api::schema
