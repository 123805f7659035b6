// Where the fields of a YAML or JSON text stand: read a second time, and only where there is something to say of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::doc {

// Values of one text whose places are kept; of what is behind them the places are not known.
inline constexpr std::size_t yaml_places_max = 1'000'000;

// Counted from 1; 0: not known.
struct text_place {
    std::size_t line = 0;
    std::size_t column = 0;
    bool operator==(const text_place&) const = default;
};

class yaml_places {
   public:
    // A text that is no YAML has the places in front of its mistake.
    explicit yaml_places(std::string_view text);

    // The name of the field at `path` ("spec.env[0].name", "limits[a.b/c]"), or the item; of what is above it where it
    // is not there. The document is the one that begins in that line.
    [[nodiscard]] text_place find(std::size_t document_line, std::string_view path) const;

   private:
    static constexpr std::uint32_t none = UINT32_MAX;
    struct entry {
        std::string name;  // of a member; empty for items and documents
        std::uint32_t line = 0;
        std::uint32_t column = 0;
        std::uint32_t first = none;  // below it
        std::uint32_t last = none;
        std::uint32_t next = none;  // beside it
        bool list = false;
    };
    class reader;

    // What `path` begins with below `above`, and cuts it off there; none where nothing of that name is there.
    [[nodiscard]] std::uint32_t step(std::uint32_t above, std::string_view& path) const;

    std::vector<entry> entries_;
    std::vector<std::uint32_t> documents_;
};

}  // namespace cotrain::doc
