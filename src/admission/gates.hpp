// The feature gates that change what admission allows.
#pragma once

namespace cotrain::admission {

struct gates {
    bool mutable_while_suspended = false;  // MutableWhileSuspended: numNodes and resources of a suspended job
    bool ttl = false;                      // TrainJobTTL: spec.ttlSecondsAfterFinished is obeyed
    bool elastic = false;                  // ElasticTrainJob: numNodes of a running job within its range
};

}  // namespace cotrain::admission
