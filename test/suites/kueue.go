// Package trainjob gets this file added, Kueue's suite of TrainJobs, which nobody but Kueue looks after: here our program
// works beside it.
package trainjob

import (
	"sync"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"sigs.k8s.io/kueue/test/integration/operator"
)

var startOperator sync.Once

// The first spec finds an API server; our program ends with the process of the suite.
var _ = ginkgo.BeforeEach(func() {
	startOperator.Do(func() {
		_, err := operator.Start(cfg)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
	})
})
