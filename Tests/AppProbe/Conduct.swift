import Foundation
import Nightshift
import TestSupport

/// Executes the orders at each point.
final class Conduct: Sendable {
    let orders: Orders
    let journal: Journal
    let refreshing: Refreshing
    let notifying: Notifying
    let locating: Locating
    private let backgroundTasks: BackgroundTasks

    init(_ orders: Orders) {
        self.orders = orders
        journal = Journal(orders.journal)
        refreshing = Refreshing(orders, journal)
        notifying = Notifying(orders, journal)
        locating = Locating(orders, journal)
        backgroundTasks = BackgroundTasks(orders, journal)
    }

    /// Returns the deeds that are due at a point. First executes the orders about background tasks, then itself does
    /// the deeds that end or block the process.
    func deeds(at point: Point, task: URLSessionTask? = nil, bytes: Int64 = 0) -> [Rule.Deed] {
        backgroundTasks.reach(point)
        refreshing.reach(point)
        notifying.reach(point)
        locating.reach(point)
        let due = orders.rules.indices.filter { index in
            let rule = orders.rules[index]
            return rule.point == point && rule.bytes <= bytes
                && (rule.task == nil || rule.task == task?.taskDescription) && isLeft(index)
        }
        for index in due { execute(orders.rules[index]) }
        return due.map { orders.rules[$0].deed }
    }

    private func execute(_ rule: Rule) {
        switch rule.deed {
        case .crash: _exit(9)
        case .exit: exit(0)
        case .hold:
            guard let gate = rule.gate else { while true { pause() } }
            wait(untilThereIs: gate)
        case .halt: if let process = rule.process { kill(process, SIGSTOP) }
        case .spin: spin()
        case .cancelAndResume, .retry: break
        }
    }

    /// Returns whether the rule still applies, and counts this use by creating a file.
    private func isLeft(_ index: Int) -> Bool {
        guard let times = orders.rules[index].times else { return true }
        return (0..<times).contains { time in
            let mark = open("\(orders.journal).\(index).\(time)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            if mark >= 0 { close(mark) }
            return mark >= 0
        }
    }

    private func spin() {
        var pid: pid_t = 0
        let words = ["sh", "-c", "while :; do :; done"].map { $0.withCString(strdup) } + [nil]
        if posix_spawn(&pid, "/bin/sh", nil, nil, words, environ) == 0 {
            journal.note(.child) { $0.text = "\(pid)" }
        }
        for word in words { free(word) }
    }
}

/// Calls `body` once the delay has passed and the gate's file exists. Without a delay and a gate, calls it at once.
func after(_ delay: Double, _ gate: String?, _ body: @escaping @Sendable () -> Void) {
    guard delay > 0 || gate != nil else { return body() }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) {
        if let gate { wait(untilThereIs: gate) }
        body()
    }
}

/// Blocks the thread until the file exists, for at most an hour.
func wait(untilThereIs file: String) {
    try? blockUntil("a gate that opens", within: .seconds(3_600)) { access(file, F_OK) == 0 }
}
