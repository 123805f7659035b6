// The five spellings of a YAML scalar: plain, single and double quoted, literal and folded.
#pragma once

#include <string>
#include <string_view>

#include "api/arena.hpp"
#include "api/yaml_cursor.hpp"

namespace cotrain::api {

struct yaml_scalar {
    std::string_view text;  // in the source where it is written in one piece, else in the arena
    bool plain = false;
    bool multi_line = false;
};

class yaml_scalars {
   public:
    yaml_scalars(yaml_cursor& cursor, arena& memory) : c_(cursor), memory_(memory) {}

    // Lines that continue a plain scalar outside of brackets are indented at least to `column_min`.
    [[nodiscard]] bool plain(int column_min, bool flow, yaml_scalar& out);
    [[nodiscard]] bool single_quoted(yaml_scalar& out);
    [[nodiscard]] bool double_quoted(yaml_scalar& out);
    // `indent` is the column of the collection around it, -1 if there is none.
    [[nodiscard]] bool block(int indent, yaml_scalar& out);

   private:
    [[nodiscard]] bool ends_plain(bool flow) const;
    [[nodiscard]] bool plain_breaks(int column_min, std::size_t& breaks);
    [[nodiscard]] bool quoted_gap();
    [[nodiscard]] bool escape();
    [[nodiscard]] bool hex_escape(int digits);
    [[nodiscard]] bool block_header(int& increment, int& chomp);
    [[nodiscard]] bool block_breaks(int indent, int& content_column, std::size_t& breaks);
    void fold(std::size_t breaks);

    yaml_cursor& c_;
    arena& memory_;
    std::string scratch_;
};

}  // namespace cotrain::api
