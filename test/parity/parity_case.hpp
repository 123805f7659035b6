// One golden case, played against the live operator and compared with its recording.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "parity/parity_stage.hpp"
#include "support/golden/golden_case.hpp"
#include "support/golden/golden_compare.hpp"
#include "support/golden/golden_normal.hpp"

namespace cotrain::parity {

using doc::ref;
using golden::difference;

class live_case {
   public:
    live_case(stage& on, golden::allowances& meant, const std::string& name, int number);

    [[nodiscard]] awaitable<void> play();

    [[nodiscard]] const std::string& name() const { return case_.name; }
    [[nodiscard]] const std::vector<difference>& differences() const { return differences_; }
    [[nodiscard]] int snapshots() const { return snapshots_; }

   private:
    [[nodiscard]] awaitable<void> step(ref s, std::string prefix);
    [[nodiscard]] awaitable<void> apply(ref document, std::string key);
    [[nodiscard]] awaitable<void> patch(ref s, std::string key);
    [[nodiscard]] awaitable<void> remove(ref what);
    [[nodiscard]] awaitable<void> compare_snapshot(std::string key);
    [[nodiscard]] awaitable<std::vector<difference>> look(ref expected, std::string path);
    [[nodiscard]] awaitable<doc::editor> snapshot(doc::arena* memory,
                                                  std::map<std::string, std::set<std::string>>* owned);
    [[nodiscard]] awaitable<void> quiet();
    [[nodiscard]] awaitable<void> pause(std::chrono::milliseconds time);
    [[nodiscard]] awaitable<void> before_input(std::string_view kind);
    void judge(const base::result<kube::reply>& answer, const std::string& key);
    [[nodiscard]] std::string live(std::string text) const;
    [[nodiscard]] std::string recorded(std::string text) const;
    void learn_uids(ref item, std::string_view kind);

    stage& stage_;
    golden::allowances& meant_;
    golden::recorded_case case_;
    std::string ns_;
    std::string prefix_;
    std::map<std::string, std::string> uids_;
    std::map<std::string, ref> last_;
    std::vector<difference> differences_;
    clock::time_point input_at_{};
    clock::time_point step_at_{};
    std::string compared_;
    int snapshots_ = 0;
};

}  // namespace cotrain::parity
