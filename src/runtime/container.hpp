// Editing one container, and the volumes of a pod, by the rules that all plugins share.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/edit.hpp"
#include "api/tree.hpp"

namespace cotrain::runtime {

// A container of the template that is being filled in. Entries that are put in replace those with the same key
// (name of a variable, number of a port, path of a mount) in their place, else come last.
class container {
   public:
    container() = default;
    explicit container(api::editor document) : document_(document) {}

    [[nodiscard]] explicit operator bool() const { return static_cast<bool>(document_); }
    [[nodiscard]] std::string_view name() const { return document_.get("name").as_string(); }
    [[nodiscard]] api::ref view() const { return document_.view(); }
    // The value of a variable that is set to a text.
    [[nodiscard]] api::ref env(std::string_view variable) const;

    void put_env(api::word variable, std::string_view value);
    // Only where the container has no variable of that name.
    void put_env_default(api::word variable, std::string_view value);
    void put_env_field(api::word variable, api::word field_path);
    // The entries of an `env` list in a TrainJob, in the form which the reference gives them.
    void put_env_list(api::ref entries);
    void put_port(std::int32_t number);
    void put_mount(std::string_view volume, std::string_view path, bool read_only = false);

    void set_image(std::string_view image);
    // An empty list takes the member away.
    void set_command(api::ref words);
    void set_args(api::ref words);
    void add_secret_env(std::string_view secret);
    void set_resources(api::ref resources);

   private:
    api::editor document_;
};

// An entry of a TrainJob's `env` as the reference writes it into a container: `value` gives way to `valueFrom`,
// fieldRef loses its apiVersion, divisor is always there. Sources and members that we do not know stay.
[[nodiscard]] api::ref plain_env_entry(api::arena& memory, api::ref entry);

// {"name": name, source: {}}, the source to be filled in by the caller; it replaces the pod's volume of that name.
api::editor put_volume(api::editor pod_spec, std::string_view name, std::string_view source);

}  // namespace cotrain::runtime
