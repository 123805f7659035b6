// Spells places as the API server does.
#include "api/schema/place.hpp"

#include <fmt/format.h>

#include <iterator>

namespace cotrain::api::schema {

std::string place::path() const {
    if (above_ == nullptr) return {};
    std::string text = above_->path();
    switch (step_) {
        case step::root: break;
        case step::member:
            if (!text.empty()) text += '.';
            text += name_;
            break;
        case step::item: fmt::format_to(std::back_inserter(text), "[{}]", index_); break;
    }
    return text;
}

}  // namespace cotrain::api::schema
