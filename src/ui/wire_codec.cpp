#include <glaze/json/write.hpp>

#include "ui/wire.hpp"

// status.failures is written by others: it is passed on as it is.
template <>
struct glz::meta<cotrain::ui::job_details> {
    using T = cotrain::ui::job_details;
    static constexpr auto value = glz::object(
        "id", &T::id, "ns", &T::ns, "name", &T::name, "runtimeKind", &T::runtimeKind, "runtime", &T::runtime,
        "managedBy", &T::managedBy, "failures", [](const T& self) { return glz::raw_json_view{self.failures}; },
        "setCreated", &T::setCreated, "conditions", &T::conditions, "parts", &T::parts, "endpoints", &T::endpoints,
        "endpointsLeftOut", &T::endpointsLeftOut, "setError", &T::setError);
};

namespace cotrain::ui {

namespace {

// Names and messages are anybody's: a control byte in them must not spoil the text.
struct rules : glz::opts {
    bool escape_control_characters = true;
};

template <class T>
std::string write(const T& value) {
    std::string out;
    // Writing plain structs into a string has no way to fail.
    static_cast<void>(glz::write<rules{}>(value, out));
    return out;
}

}  // namespace

std::string to_json(const feed_message& m) { return write(m); }
std::string to_json(const job_details& m) { return write(m); }
std::string to_json(const pod_list& m) { return write(m); }
std::string to_json(const event_list& m) { return write(m); }
std::string to_json(const child_list& m) { return write(m); }
std::string to_json(const failure_row& m) { return write(m); }

}  // namespace cotrain::ui
