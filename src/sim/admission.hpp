// Webhooks of the cluster's own configurations: which are asked, with what, and what their answers do. Pure: the caller
// serves the cluster carries questions and answers.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doc/edit.hpp"
#include "sim/failure.hpp"
#include "sim/kind.hpp"

namespace cotrain::sim {

class store;

inline constexpr std::size_t hooks_asked_max = 64;  // for one request

struct hook_call {
    std::string hook;     // its name
    std::string service;  // "namespace/name", or, if it is reached by URL, empty
    std::string host;
    std::uint16_t port = 443;
    std::string path;
    std::string ca_pem;
    std::chrono::seconds timeout{10};
    std::string review;
};
struct hook_answer {
    bool reached = false;
    std::string text;  // an AdmissionReview, or why there is none
};

// What was asked and answered about one request. With each answer the request is played again from its start: nothing
// is held while a webhook thinks, and who wrote meanwhile is seen.
struct admission_talk {
    caller who{};
    std::string uid{};             // of an object that is new…
    std::string generated_name{};  // …and its name, the same in every round
    std::optional<hook_call> asked{};
    std::map<std::string, hook_answer> answers{};  // by hook and review

    // To the question that was asked.
    void answer(hook_answer said);
};

struct admission_subject {
    const kind* of = nullptr;
    std::string_view ns{};
    std::string_view name{};
    std::string_view operation{};  // "CREATE", "UPDATE", "DELETE"
    bool status = false;
    bool dry_run = false;
    doc::ref old{};
};

// Code 0: a webhook has to be asked first, see admission_talk::asked.
[[nodiscard]] inline bool is_pending(const failure& what) { return what.code == 0; }

// What all mutating webhooks make of the object, which is not shaped again.
[[nodiscard]] outcome<doc::ref> mutate(doc::arena& memory, const kinds& types, const store& objects,
                                       const admission_subject& about, doc::ref object, admission_talk& talk,
                                       std::vector<std::string>& warnings);
[[nodiscard]] outcome<> validate(const kinds& types, const store& objects, const admission_subject& about,
                                 doc::ref object, admission_talk& talk, std::vector<std::string>& warnings);

}  // namespace cotrain::sim
