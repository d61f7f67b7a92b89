import NightshiftAPI
import Store
import Testing

@testable import Transfers

/// Tests of the sentences for requests that the state of a task does not allow.
@Suite struct IllegalTransitionTests {
    private static func sentence(
        _ state: TaskState, _ event: TaskEvent, _ change: (inout TaskRecord) -> Void = { _ in }
    ) -> String {
        var record = TaskMachineTests.record(state)
        record.id = TaskID(7)
        change(&record)
        return IllegalTransition(state: state, event: event).sentence(about: record)
    }

    @Test func `A request for an ended task says that there is nothing to do`() {
        let cancel = TaskEvent.cancel(resumeData: nil, failure: nil)
        #expect(Self.sentence(.completed, cancel) == "Transfer 7 has completed; there is nothing to cancel.")
        #expect(Self.sentence(.completed, .suspend) == "Transfer 7 has completed; there is nothing to pause.")
        #expect(Self.sentence(.cancelled, cancel) == "Transfer 7 was cancelled; there is nothing to cancel.")
        #expect(Self.sentence(.failed, cancel) == "Transfer 7 has failed; there is nothing to cancel.")
    }

    @Test func `A failed download that cannot be resumed can be retried`() {
        #expect(
            Self.sentence(.failed, .resume)
                == "Transfer 7 has failed. To start it again, run: nightshift retry 7")
        #expect(
            Self.sentence(.failed, .resume) { $0.request.kind = .upload }
                == "Transfer 7 has failed; there is nothing to resume.")
        #expect(
            Self.sentence(.failed, .resume) { $0.file = "/kept" }
                == "Transfer 7 has failed; there is nothing to resume.")
    }
}
