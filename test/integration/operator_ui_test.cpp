// `cotrain ui` as a person runs it, against the real API server: whose jobs it shows, and that it leaves nothing
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "integration/control.hpp"
#include "integration/operator_scene.hpp"
#include "integration/operator_sim_child.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// Somebody who may look at the TrainJobs of one namespace and at nothing else.
constexpr auto grant = R"(
for each in 'role ui-viewer --verb=get,list,watch --resource=trainjobs.trainer.kubeflow.org' \
  'rolebinding ui-viewer --role=ui-viewer --user=ui-viewer'; do
  $COTRAIN_TEST_KUBECTL --kubeconfig $COTRAIN_TEST_KUBECONFIG create $each -n $NS >/dev/null || exit 1
done
)";
std::string viewers_kubeconfig(const operator_scene& s, const temp_dir& dir) {
    std::ifstream in(test_variable("COTRAIN_TEST_KUBECONFIG"));
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    doc::arena memory;
    doc::editor document = doc::editor::of(memory, *doc::parse_yaml(memory, text));
    document.child("users").child(std::size_t{0}).child("user").set("as", "ui-viewer");
    document.child("contexts").child(std::size_t{0}).child("context").set("namespace", s.ns);
    return dir.write("kubeconfig", doc::to_json(document));
}

// Starts it, reads what it says and its feed, and ends it as Ctrl-C would.
constexpr auto visit = R"(
: >$DIR/said  # what the one before said
"$PROGRAM" ui $OPTIONS >$DIR/said 2>&1 &
ui=$!
until grep -q 'Ctrl-C ends it' $DIR/said; do kill -0 $ui || { cat $DIR/said; exit 1; }; read -rt 0.05 <> <(:) || true; done
cat $DIR/said
url=$(sed -n 's/^ *\(http:.*\)/\1/p' $DIR/said)
# The feed has no end: as much as is waited for.
until [ -n "$all" ]; do all=$(timeout 2 curl -sN ${url}feed | grep -m1 "$WANTED" || true); done
echo "$all"
curl -s "${url}api/pods?ns=$NS&name=seen-0"
curl -s -o /dev/null -w ' wrong key: %{http_code}' "${url%/*/}/feed"
curl -s -o /dev/null -w ' wrong host: %{http_code}\n' -H 'Host: evil.example' "$url"
kill -INT $ui
wait $ui
echo "ended with $?"
)";

std::string variables(const operator_scene& s, const temp_dir& dir, const std::string& kubeconfig,
                      const std::string& options, const std::string& wanted) {
    return "export KUBECONFIG=" + kubeconfig + "; NS=" + s.ns + " DIR=" + dir.path() + " PROGRAM=" + COTRAIN_BINARY +
           " OPTIONS='" + options + "' WANTED='" + wanted + "' all=\n";
}

awaitable<void> look(operator_scene& s) {
    const temp_dir dir;
    const std::string own = test_variable("COTRAIN_TEST_KUBECONFIG");
    audit_log audit(test_variable("COTRAIN_TEST_AUDIT"));
    co_await s.create_jobs("seen-", 0, 3, R"({"runtimeRef":{"name":"torch","kind":"TrainingRuntime"}})");
    const finished everywhere = run_shell(variables(s, dir, own, "", "seen-2") + visit);
    EXPECT_THAT(everywhere.output, HasSubstr("all namespaces: read only, with your rights"));
    EXPECT_THAT(everywhere.output, HasSubstr(R"("ns":")" + s.ns + R"(","name":"seen-0")"));
    EXPECT_THAT(everywhere.output, HasSubstr(R"({"pods":[],"more":false})"));
    EXPECT_THAT(everywhere.output, HasSubstr("wrong key: 404 wrong host: 403"));
    EXPECT_THAT(everywhere.output, HasSubstr("ended with 0"));

    const finished limited = run_shell(variables(s, dir, viewers_kubeconfig(s, dir), "", "forbidden") + grant + visit);
    EXPECT_THAT(limited.output, HasSubstr("namespace " + s.ns + ": read only")) << "the only one that may be listed";
    EXPECT_THAT(limited.output, HasSubstr(R"("kind":"JobSet","state":"forbidden")"));
    EXPECT_THAT(limited.output, HasSubstr(R"("error":"list Pod in )" + s.ns + ": 403 Forbidden"));
    EXPECT_THAT(limited.output, HasSubstr("ended with 0"));

    const finished another = run_shell(variables(s, dir, own, "-n kube-system", "TrainJob") + visit);
    EXPECT_THAT(another.output, Not(HasSubstr("seen-0")));

    const auto labelled = co_await s.api->merge_patch(kinds::train_job, {.ns = s.ns, .name = "seen-1"},
                                                      R"({"metadata":{"labels":{"team":"a"}}})");
    EXPECT_TRUE(labelled) << labelled.error().message;
    const finished chosen = run_shell(variables(s, dir, own, "-A -l team=a", "seen-1") + visit);
    EXPECT_THAT(chosen.output, HasSubstr(", team=a, all namespaces: read only"));
    EXPECT_THAT(chosen.output, HasSubstr(R"("name":"seen-1")"));
    EXPECT_THAT(chosen.output, Not(HasSubstr(R"("name":"seen-2")")));

    int questions = 0;
    for (const audit_entry& each : audit.read()) {
        if (!each.agent.starts_with("cotrain-ui/")) continue;
        if (each.resource == "selfsubjectaccessreviews")
            ++questions;
        else
            EXPECT_FALSE(each.writes()) << each.verb << " " << each.resource;
    }
    EXPECT_EQ(questions, 2) << "of those who did not name a namespace";
}

TEST(operator_ui, shows_what_one_may_see_and_only_reads) { operator_scene("operator-ui").play(look); }

}  // namespace
}  // namespace cotrain::test
