import NightshiftAPI
import Store
import Transfers

/// The legal events in each state, and their results. They are written a second time here to check the state machine.
enum TaskLegality {
    enum Kind: String, CaseIterable, Sendable {
        case suspend, resume, accept, checkpoint, interrupt, hold, finish, publish, complete, fetchAgain, fail, cancel
        case ask, answer, loosen, retarget, keep, sendOn, sendAgain, setAside, begin, retry
    }

    /// Returns the state after an event, or nil if the event is not allowed.
    static func exit(from state: TaskState, by kind: Kind) -> TaskState? {
        switch (state, kind) {
        case (.suspended, .resume): .waiting
        case (.suspended, .cancel): .cancelled
        case (.waiting, .suspend), (.waiting, .setAside), (.finishing, .setAside): .suspended
        case (.waiting, .accept), (.waiting, .checkpoint), (.waiting, .interrupt), (.waiting, .hold): .waiting
        case (.waiting, .finish): .finishing
        case (.waiting, .fail), (.finishing, .fail): .failed
        case (.waiting, .cancel): .cancelled
        case (.waiting, .ask), (.waiting, .answer), (.waiting, .loosen): .waiting
        case (.waiting, .keep), (.waiting, .sendOn), (.waiting, .sendAgain): .waiting
        case (.waiting, .begin), (.waiting, .retry): .waiting
        case (.suspended, .answer), (.suspended, .retarget): .suspended
        case (.waiting, .retarget), (.failed, .retarget), (.failed, .retry): .waiting
        case (.finishing, .publish): .finishing
        case (.finishing, .complete): .completed
        case (.finishing, .fetchAgain), (.finishing, .hold), (.finishing, .interrupt): .waiting
        default: nil
        }
    }

    /// Returns the violated invariants of a record.
    static func faults(_ record: TaskRecord) -> [String] {
        var faults: [String] = []
        func claim(_ holds: Bool, _ text: String) {
            if !holds { faults.append(text) }
        }
        claim((record.endedAt != nil) == record.state.isTerminal, "endedAt exactly when it has ended")
        claim(record.deadline == nil || record.timeLeft == nil, "a deadline or time left, not both")
        claim(record.state != .suspended || record.deadline == nil, "no deadline while suspended")
        claim(record.state != .suspended || record.timeLeft != nil, "time left while suspended")
        claim(record.state != .waiting || record.deadline != nil, "a deadline while waiting")
        claim(
            record.wait == nil || record.state == .waiting || record.wait?.reason == .serviceFault,
            "a wait only while waiting, or held back")
        claim(
            record.wait?.reason != .serviceFault || record.state == .suspended,
            "held back for a fault only while suspended")
        claim(record.notBefore == nil || record.state == .waiting, "a pause only while waiting")
        claim(record.publication == nil || record.state == .finishing, "an intent to publish only while finishing")
        claim(
            !record.state.isTerminal || record.deadline == nil && record.timeLeft == nil && record.beginAt == nil,
            "no times ahead of one that has ended")
        claim(
            record.state == .failed || record.error == nil
                || record.state == .cancelled && record.error?.code == .forceQuit,
            "an error only of one that failed, or that its owner did not cancel")
        claim(
            record.question == nil || record.state == .waiting || record.state == .suspended,
            "a question only of one that can go on")
        claim(record.state != .failed || record.error != nil, "an error of one that failed")
        claim(
            record.resumeData == nil || record.state == .failed || record.state == .cancelled, "resume data at the end")
        claim(
            record.resumeData == nil || record.partial != nil || record.upload != nil,
            "bytes with resume data, here or at the server")
        claim(record.upload == nil || record.state != .completed, "nothing kept by the server of a whole upload")
        claim(record.state != .completed || record.lastError == nil, "no last error of one that is complete")
        claim(record.partial == nil || record.received >= 0, "no negative progress")
        claim(
            record.relaxesAt == nil || record.rules.discretion != .none,
            "a time to loosen only where something can loosen")
        claim(record.relaxesAt == nil || record.state != .suspended, "no time to loosen while suspended")
        claim(
            !record.isDiscretionForced || record.rules.discretion != .none, "forced only where it waits for something")
        claim(record.fruitless >= 0 && record.furthest >= 0, "no fewer attempts or bytes than none")
        claim(record.fruitless <= record.attempts, "no more fruitless attempts than attempts")
        claim(record.state != .running, "running is never stored")
        return faults
    }
}
