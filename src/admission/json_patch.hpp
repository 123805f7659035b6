// Changes to a document, made and written down at once (RFC 6902).
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "doc/edit.hpp"

namespace cotrain::admission {

class json_patch {
   public:
    json_patch(doc::arena& memory, doc::ref document);

    // Everything above the last step of the path exists; steps into lists are numbers.
    void set(std::span<const std::string_view> path, doc::ref value);
    void set(std::initializer_list<std::string_view> path, doc::ref value) {
        set(std::span(path.begin(), path.size()), value);
    }
    void remove(std::initializer_list<std::string_view> path);

    [[nodiscard]] doc::ref document() const { return document_; }
    // The operations as JSON; empty if there are none.
    [[nodiscard]] std::string text() const;

   private:
    using steps = std::span<const std::string_view>;
    [[nodiscard]] doc::editor above(steps path);
    doc::editor note(std::string_view operation, steps path);

    doc::editor document_;
    doc::editor operations_;
};

}  // namespace cotrain::admission
