// The API server, the operator under test, and who last changed what: what all cases of a parity run share.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.hpp"
#include "base/task_group.hpp"
#include "integration/operator_child.hpp"
#include "kube/client.hpp"
#include "parity/parity_admission.hpp"
#include "watch/informer.hpp"

namespace cotrain::parity {

using clock = std::chrono::steady_clock;

// When something in a namespace, or of a cluster-wide name's prefix, last changed.
class activity final : public watch::listener {
   public:
    explicit activity(const watch::text_table& texts) : texts_(texts) {}
    void changed(const watch::object_change& what) override { touch(what.object->key); }
    void removed(watch::kind, const watch::object_record& last) override { touch(last.key); }
    void synced(watch::kind) override {}
    void missing(watch::kind) override {}

    [[nodiscard]] clock::time_point last(const std::string& ns, const std::string& prefix) const;

   private:
    void touch(watch::text_id key);
    const watch::text_table& texts_;
    std::map<std::string, clock::time_point, std::less<>> last_;
};

class stage {
   public:
    explicit stage(asio::io_context& loop);

    // Definitions are served, the operator leads and admits.
    [[nodiscard]] awaitable<bool> open();
    [[nodiscard]] awaitable<void> close();

    asio::io_context& loop;
    std::unique_ptr<kube::client> api;
    std::unique_ptr<test::operator_child> child;
    watch::text_table texts;
    activity changes{texts};

   private:
    [[nodiscard]] awaitable<bool> define(std::string crd, kube::resource served);

    std::unique_ptr<admission> admission_;
    base::random_source random_{1};
    base::task_group watching_;
    std::unique_ptr<watch::informers> watchers_;
};

}  // namespace cotrain::parity
