// What elastic TrainJobs need of the cluster besides the operator's own gate.
#include "app/doctor/judge.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view area = "elastic";
constexpr std::string_view job_set_gate = "ElasticJobSet=true";

finding judge_rule(doc::ref version) {
    const doc::ref trainer = version.get({"schema", "openAPIV3Schema", "properties", "spec", "properties", "trainer"});
    if (trainer.get("x-kubernetes-validations").empty())
        return {.area = area, .what = "TrainJobs may change spec.trainer.numNodes"};
    return {.how = verdict::problem,
            .area = area,
            .what = "the definition of TrainJobs keeps spec.trainer as it is: no TrainJob can be scaled",
            .remedy =
                "open gate ElasticTrainJob in the chart's manager.config.featureGates, which takes the rule out "
                "of the definition"};
}

// Its flags; what its own configuration file says is not seen here.
finding judge_flags(doc::ref deployments) {
    for (const doc::ref each : deployments.items()) {
        for (const doc::ref container : each.get({"spec", "template", "spec", "containers"}).items()) {
            for (const std::string_view list : {"command", "args"}) {
                for (const doc::ref word : container.get(list).items())
                    if (word.as_string().contains(job_set_gate))
                        return {.area = area, .what = "JobSet's controller has feature gate ElasticJobSet"};
            }
        }
    }
    return {
        .how = verdict::advice,
        .area = area,
        .what =
            "no Deployment of JobSet has feature gate ElasticJobSet among its flags (its configuration file is "
            "not looked at): without it JobSets that run keep their size",
        .remedy = "add --feature-gates=ElasticJobSet=true to the arguments of JobSet's controller (v0.12 or later)"};
}

}  // namespace

findings judge_elastic(std::string_view definition, std::string_view deployments) {
    doc::arena memory;
    const auto crd = doc::parse_json(memory, definition);
    const auto list = doc::parse_json(memory, deployments);
    findings out;
    if (crd) out.push_back(judge_rule(crd->get({"spec", "versions"}).at(0)));
    if (list) out.push_back(judge_flags(list->get("items")));
    return out;
}

}  // namespace cotrain::app
