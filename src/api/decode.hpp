// Reading typed values out of documents: the first mistake is kept with its path, the rest of the reading is harmless.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/time.hpp"
#include "api/tree.hpp"
#include "base/error.hpp"

namespace cotrain::api {

// Collects the outcome of reading one document.
class decoding {
   public:
    // `what` stands before the message: "TrainJob".
    explicit decoding(std::string_view what) : what_(what) {}
    [[nodiscard]] bool ok() const { return !message_; }
    [[nodiscard]] std::unexpected<base::error> fail() const;
    void mistake(std::string message);

   private:
    std::string_view what_;
    std::optional<std::string> message_;
};

// A value and where it stands. Absent and null are the same: nothing to read. A place refers to the place above it,
// which must outlive it.
class place {
   public:
    place(decoding& outcome, ref document) : outcome_(&outcome), value_(document) {}

    [[nodiscard]] ref value() const { return value_; }
    [[nodiscard]] explicit operator bool() const { return !value_.is_unset(); }
    [[nodiscard]] std::string path() const;  // "spec.trainer.env[0].name"
    void mistake(std::string_view what) const;
    // "expected an integer, got a string"
    void expected(std::string_view what) const;

    // The member or item below, of any kind…
    [[nodiscard]] place member(std::string_view key) const;
    [[nodiscard]] place item(std::size_t index) const;
    // …or of one kind: another one is a mistake and reads as absent.
    [[nodiscard]] place object(std::string_view key) const;
    [[nodiscard]] place array(std::string_view key) const;
    [[nodiscard]] place object_item(std::size_t index) const;
    [[nodiscard]] std::size_t size() const { return value_.size(); }

    // A member into `out`, which keeps its value if there is nothing to read. Numbers must fit.
    void read(std::string_view key, std::string_view& out) const;
    void read(std::string_view key, std::string& out) const;
    void read(std::string_view key, std::optional<std::string_view>& out) const;
    void read(std::string_view key, bool& out) const;
    void read(std::string_view key, std::optional<bool>& out) const;
    void read(std::string_view key, std::int32_t& out) const;
    void read(std::string_view key, std::optional<std::int32_t>& out) const;
    void read(std::string_view key, std::int64_t& out) const;
    void read(std::string_view key, std::optional<std::int64_t>& out) const;
    void read(std::string_view key, std::optional<seconds_time>& out) const;
    void read(std::string_view key, std::optional<micros_time>& out) const;
    void read_strings(std::string_view key, std::vector<std::string_view>& out) const;
    // Objects and arrays as they are.
    void read_object(std::string_view key, ref& out) const;
    void read_array(std::string_view key, ref& out) const;
    // An object whose values are strings (labels, node selectors).
    void read_string_map(std::string_view key, ref& out) const;
    void require(std::string_view key) const;
    // Any other member is a mistake: "unknown field".
    void allow_only(std::initializer_list<std::string_view> keys) const;

   private:
    place(const place& above, ref v, std::string_view key, std::size_t index)
        : outcome_(above.outcome_), above_(&above), value_(v), key_(key), index_(index) {}
    [[nodiscard]] place of_kind(place below, kind wanted) const;
    template <class T>
    void read_integer(std::string_view key, T& out) const;

    decoding* outcome_;
    const place* above_ = nullptr;
    ref value_;
    std::string_view key_{};
    std::size_t index_ = 0;
};

}  // namespace cotrain::api
