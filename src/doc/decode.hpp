// Reading typed values out of documents: the first mistake is kept with its path, the rest of the reading is harmless.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "doc/tree.hpp"

namespace cotrain::doc {

// Collects the outcome of reading one document.
class decoding {
   public:
    // `what` comes before the message: "TrainJob". Of a `secret` document messages name kinds and no values.
    explicit decoding(std::string_view what, bool secret = false) : what_(what), secret_(secret) {}
    [[nodiscard]] bool ok() const { return !message_; }
    [[nodiscard]] std::unexpected<base::error> fail() const;
    [[nodiscard]] bool secret() const { return secret_; }
    void mistake(std::string message);

   private:
    std::string_view what_;
    bool secret_;
    std::optional<std::string> message_;
};

// A value and its path. Absent and null are the same: nothing to read. A place refers to the place above it,
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
    // The items of an array below; none of anything else.
    template <class F>
    void each_object(std::string_view key, F read) const {
        const place list = array(key);
        for (std::size_t i = 0; i < list.size(); ++i) read(list.object_item(i));
    }
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
    void read(std::string_view key, std::optional<base::seconds_time>& out) const;
    void read(std::string_view key, std::optional<base::micros_time>& out) const;
    void read_strings(std::string_view key, std::vector<std::string_view>& out) const;
    void read_strings(std::string_view key, std::vector<std::string>& out) const;
    // Objects and arrays as they are.
    void read_object(std::string_view key, ref& out) const;
    void read_array(std::string_view key, ref& out) const;
    // An object whose values are strings (labels, node selectors).
    void read_string_map(std::string_view key, ref& out) const;
    void require(std::string_view key) const;

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

}  // namespace cotrain::doc
