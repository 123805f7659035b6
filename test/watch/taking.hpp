// An intake of one kind with all that it needs, for tests that feed it objects.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "watch/heard.hpp"
#include "watch/intake.hpp"

namespace cotrain::watch {

struct taking {
    text_table texts;
    object_store store{texts};
    heard listener{texts};
    std::vector<std::string> log;
    base::logger logger{
        [](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); }, &log,
        base::level::info};
    intake in;

    explicit taking(kind of) : in(of, store, texts, listener, logger, {}, {"-mpi-ssh-auth", "-extra"}) {}
    void take(const std::string& object, bool gone = false) {
        object_view view;
        const auto ok = decode_object(object, view, in.parts());
        ASSERT_TRUE(ok) << ok.error().message;
        gone ? in.remove(view) : in.upsert(view);
    }
    std::vector<std::string> said() { return std::exchange(listener.lines, {}); }
};

inline std::string plain(std::string_view name, std::string_view uid, int version, std::string_view owner = "",
                         std::string_view rest = "") {
    std::string text = R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"ns","uid":")" +
                       std::string(uid) + R"(","resourceVersion":")" + std::to_string(version) + "\"";
    if (!owner.empty())
        text += R"(,"ownerReferences":[{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":")" +
                std::string(owner) + R"(","uid":"u-)" + std::string(owner) + R"(","controller":true}])";
    return text + "}" + std::string(rest) + "}";
}

}  // namespace cotrain::watch
