// The page of one cluster, whole: what follows TrainJobs and JobSets, what reads one job, what serves them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "ui/fleet.hpp"
#include "ui/follower.hpp"
#include "ui/page_server.hpp"
#include "ui/reader.hpp"

namespace cotrain::ui {

// A client for it with a user agent of its own.
[[nodiscard]] base::result<std::unique_ptr<kube::client>> make_client(asio::io_context& loop,
                                                                      const kube::cluster_config& cluster,
                                                                      base::logger& log);
// What the user agent begins with.
inline constexpr std::string_view agent = "cotrain-ui/";

class watching {
   public:
    // `ns` empty: all namespaces. `labels`: of TrainJobs, as a selector. `cluster`: how it is called on the page.
    watching(asio::io_context& loop, kube::client& api, std::string cluster, std::string ns, std::string labels,
             page_options options, base::logger& log);
    ~watching();

    // Opens the port, and begins to follow the cluster.
    [[nodiscard]] base::result<> start();
    [[nodiscard]] std::string url() const { return server_.url(); }
    [[nodiscard]] const fleet& rows() const { return rows_; }
    [[nodiscard]] awaitable<void> stop();

   private:
    class sink;
    void describe(feed_message& out) const;

    std::string cluster_;
    std::string ns_;
    base::task_group tasks_;
    fleet rows_;
    reader reads_;
    page_server server_;
    std::unique_ptr<sink> jobs_to_, sets_to_;
    follower jobs_, sets_;
};

}  // namespace cotrain::ui
