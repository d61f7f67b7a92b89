import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the app's control of a task (rows T1 and T7).
@Suite struct TaskControlTests {
    @Test func `T1: Suspensions nest, and only the first and the last change the task`() {
        var control = TaskControl()
        let changes = [
            control.suspend(), control.resume(), control.resume(), control.resume(), control.suspend(),
            control.suspend(), control.resume(), control.resume(),
        ]
        #expect(changes == [.none, .none, .resumed, .none, .suspended, .none, .none, .resumed])
        #expect(control.visibleState == .running)
    }

    @Test func `T1: Pausing the progress suspends the task once, in any order of the handlers`() {
        var control = TaskControl(isSuspended: false)
        let changes = [
            control.follow(isPaused: true), control.follow(isPaused: true), control.resume(), control.suspend(),
            control.follow(isPaused: false), control.follow(isPaused: false),
        ]
        #expect(changes == [.suspended, .none, .resumed, .suspended, .resumed, .none])
    }

    @Test func `T1: A task is cancelled once, ends once and then ignores suspensions`() {
        var control = TaskControl()
        let cancellations = [control.cancel(), control.cancel()]
        #expect(cancellations == [true, false] && control.visibleState == .canceling)
        let ends = [control.end(), control.end()]
        #expect(ends == [true, false] && control.visibleState == .completed)
        let changes = [control.suspend(), control.resume(), control.follow(isPaused: true)]
        let isCancelled = control.cancel()
        #expect(changes == [.none, .none, .none] && !isCancelled && !control.isSuspended)
    }
}

/// Tests of the service's copy of a task (row T7).
@Suite struct TaskHandoverTests {
    @Test func `T7: A task whose first answer is lost is sent again, and its suspension separately`() {
        var task = TaskHandover()
        #expect(task.nextRequest == .handOver(isHeld: true))
        let wasRequested = [task.beginHandover(), task.beginHandover()]
        #expect(wasRequested == [false, true] && task.copy == .requested && task.id == nil)
        #expect(task.control.resume() == .resumed)
        task.handedOver(as: TaskID(1), isHeld: nil)
        #expect(task.nextRequest == .setHeld(TaskID(1), false))
        task.setHeld(nil)
        task.learn(TaskID(1))
        #expect(task.nextRequest == .setHeld(TaskID(1), false))
        task.setHeld(false)
        #expect(task.nextRequest == nil)
    }

    @Test func `T7: Changes are kept from the request on, until the service has received the last one`() {
        var task = TaskHandover()
        task.change(TaskChange(priority: 0.1))
        #expect(task.unsent == nil)
        _ = task.beginHandover()
        task.change(TaskChange(priority: 0.2))
        #expect(task.nextChange == nil)
        task.handedOver(as: TaskID(1), isHeld: true)
        let first = TaskChange(priority: 0.2)
        #expect(task.nextChange?.change == first)
        task.change(TaskChange(description: "new"))
        task.sent(first)
        #expect(task.nextChange?.change == TaskChange(priority: 0.2, description: "new"))
        task.sent(TaskChange(priority: 0.2, description: "new"))
        #expect(task.nextChange == nil)
    }

    @Test func `T7: In random walks the service's task becomes what the app wants, and is created once`() {
        for seed in 0..<4_000 as Range<UInt64> {
            var walk = TaskWalk(seed: seed)
            for _ in 0..<10 + Int(seed % 6) * 15 { walk.step() }
            walk.finish()
        }
    }
}

/// A random life of one task, with a model of the service that loses requests and answers.
private struct TaskWalk {
    /// A request to the service that is under way. ``TaskCore/turn`` allows one at a time.
    private enum Stage {
        case chosen(TaskHandover.Request)
        /// - wasRequested: Whether an earlier request may have created the task.
        /// - priority: The priority that the request describes.
        case handingOver(isHeld: Bool, wasRequested: Bool, priority: Double)
        /// The service has answered that it has the task.
        case answered(isHeld: Bool?, next: Bool?)
        case settingHeld(TaskID, Bool)
        case held(Bool)
    }

    private struct Copy {
        var isHeld: Bool
        var priority: Double
    }

    private var random: SplitMix64
    private let seed: UInt64
    private var task = TaskHandover()
    private var stage: Stage?
    private var change: TaskChange?
    private var copy: Copy?
    private var creations = 0
    private var priority = 0.0
    private var isReliable = false
    private var hasFailed = false

    init(seed: UInt64) {
        self.seed = seed
        random = SplitMix64(seed: seed)
    }

    private mutating func chance(_ part: Int, of whole: Int) -> Bool {
        Int.random(in: 0..<whole, using: &random) < part
    }

    /// Whether a request or an answer is lost.
    private mutating func isLost() -> Bool { !isReliable && chance(1, of: 3) }

    /// Records the first failure of the walk.
    private mutating func fail(_ words: String) {
        if !hasFailed { Issue.record("\(words), seed \(seed)") }
        hasFailed = true
    }

    mutating func step() {
        switch Int.random(in: 0..<16, using: &random) {
        case 0: _ = task.control.suspend()
        case 1..<3: _ = task.control.resume()
        case 3: _ = task.control.follow(isPaused: chance(1, of: 2))
        case 4..<6:
            priority += 1
            task.change(TaskChange(priority: priority))
        case 6: if copy != nil { task.learn(TaskID(7)) }
        case 7: if chance(1, of: 20) { _ = task.control.cancel() }
        case 8..<10: sendChange()
        default: sendRequest()
        }
    }

    private mutating func sendChange() {
        if let sent = change {
            change = nil
            if isLost() { return }
            if let new = sent.priority { copy?.priority = new }
            if !isLost() { task.sent(sent) }
        } else {
            change = task.nextChange?.change
            if change != nil, copy == nil { fail("a change is sent before its task") }
        }
    }

    private mutating func sendRequest() {
        switch stage {
        case nil: stage = task.nextRequest.map { .chosen($0) }
        case .chosen(.handOver(let isHeld)):
            let wasRequested = task.beginHandover()
            stage = .handingOver(isHeld: isHeld, wasRequested: wasRequested, priority: priority)
        case .chosen(.setHeld(let id, let isHeld)):
            task.setHeld(nil)
            stage = .settingHeld(id, isHeld)
        case .handingOver(let isHeld, let wasRequested, let priority):
            stage = nil
            if isLost() { return }
            if copy == nil {
                copy = Copy(isHeld: isHeld, priority: priority)
                creations += 1
            }
            if !isLost() { stage = .answered(isHeld: wasRequested ? nil : isHeld, next: wasRequested ? isHeld : nil) }
        case .answered(let isHeld, let next):
            task.handedOver(as: TaskID(7), isHeld: isHeld)
            stage = next.map { .chosen(.setHeld(TaskID(7), $0)) }
        case .settingHeld(let id, let isHeld):
            stage = nil
            if id != TaskID(7) || copy == nil { fail("a request names no task") }
            if isLost() { return }
            copy?.isHeld = isHeld
            if !isLost() { stage = .held(isHeld) }
        case .held(let isHeld):
            task.setHeld(isHeld)
            stage = nil
        }
    }

    /// Sends requests until the machine needs none. The service works from now on.
    mutating func finish() {
        isReliable = true
        var steps = 0
        while stage != nil || change != nil || task.nextRequest != nil || task.nextChange != nil {
            steps += 1
            guard steps < 100 else { return fail("requests do not end: \(task)") }
            sendRequest()
            sendChange()
        }
        guard task.control.isOpen else { return }
        if creations != 1 { fail("the task is created \(creations) times") }
        if copy?.isHeld != task.control.isSuspended { fail("the service's task is not suspended as the app's is") }
        if copy?.priority != priority { fail("the service has the priority \(copy?.priority ?? -1)") }
    }
}
