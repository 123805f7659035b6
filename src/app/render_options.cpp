// The words of `cotrain render` and `cotrain validate`.
#include <optional>
#include <string>
#include <utility>

#include "api/validation.hpp"
#include "app/render.hpp"

namespace cotrain::app {
namespace {

std::optional<render_format> format_named(std::string_view name) {
    if (name == "yaml") return render_format::yaml;
    if (name == "json") return render_format::json;
    if (name == "summary") return render_format::summary;
    return std::nullopt;
}

// Empty, or why the value will not do.
std::string take(render_options& out, std::string_view option, std::string value) {
    if (option == "-f" || option == "--filename") {
        out.files.push_back(std::move(value));
    } else if (option == "--observed") {
        out.observed.push_back(std::move(value));
    } else if (option == "-n" || option == "--namespace") {
        if (const auto faults = api::check_dns1123_label(value); !faults.empty())
            return std::string(option) + " '" + value + "' " + api::join(faults);
        out.ns = std::move(value);
        out.ns_given = true;
    } else if (const auto format = format_named(value)) {
        out.format = *format;
    } else {
        return std::string(option) + " takes yaml, json or summary, not '" + value + "'";
    }
    return {};
}

bool takes_value(std::string_view option, bool verdicts_only) {
    if (option == "-o" || option == "--output") return !verdicts_only;
    return option == "-f" || option == "--filename" || option == "--observed" || option == "-n" ||
           option == "--namespace";
}

}  // namespace

base::result<render_options> read_render_options(arguments words, bool verdicts_only) {
    render_options out;
    if (verdicts_only) out.format = render_format::none;
    const auto wrong = [&](std::string why) {
        return base::fail(base::errc::invalid, (verdicts_only ? "validate: " : "render: ") + std::move(why));
    };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string_view word = words[i];
        if (word == "-h" || word == "--help") {
            out.help = true;
            return out;
        }
        const std::size_t equals = word.starts_with("-") ? word.find('=') : std::string_view::npos;
        const std::string_view option = word.substr(0, equals);
        if (!takes_value(option, verdicts_only))
            return wrong("no option '" + std::string(word) + "'; --help lists them");
        std::string value;
        if (equals != std::string_view::npos) {
            value = word.substr(equals + 1);
        } else if (++i < words.size()) {
            value = words[i];
        }
        if (value.empty()) return wrong(std::string(option) + " needs a value");
        if (std::string why = take(out, option, std::move(value)); !why.empty()) return wrong(std::move(why));
    }
    if (out.files.empty()) return wrong("nothing to read: give -f FILE, -f FOLDER or -f -");
    return out;
}

}  // namespace cotrain::app
