import NightshiftAPI
import Store
import TestSupport
import Testing
import Transfers

/// Tests of tasks that are about to be started or changed.
@Suite struct TaskClaimsTests {
    @Test func `The table counts requests that change one task`() {
        var claims = TaskClaims()
        let task = TaskID(1)
        claims.hold(task)
        claims.hold(task)
        claims.letGo(task)
        #expect(claims.isHeld(task) && claims.contains(task) && !claims.isStarting(task))
        claims.letGo(task)
        #expect(!claims.contains(task))
        // This task was not blocked.
        claims.letGo(task)
        #expect(claims.count == 0)
    }

    @Test func `A blocked session blocks all its tasks until each block has ended`() {
        var claims = TaskClaims()
        let (session, other) = (SessionID(rawValue: "a"), SessionID(rawValue: "b"))
        let record = TaskRecord(
            session: session, origin: "https://a", state: .waiting, priority: 0.5, createdAt: 0,
            request: TaskRequest(url: "https://a/f"))
        claims.hold(session)
        claims.hold(session)
        claims.letGo(other)
        claims.letGo(session)
        #expect(claims.isHeld(record) && claims.sessions == [session])
        #expect(!claims.isHeld(record.id), "not the task alone")
        claims.letGo(session)
        claims.letGo(session)
        #expect(!claims.isHeld(record) && claims.sessions.isEmpty)
        claims.hold(record.id)
        #expect(claims.isHeld(record))
    }

    @Test func `The table resumes each caller that waits for a task exactly once, and no others`() async {
        var claims = TaskClaims()
        let (task, other) = (TaskID(1), TaskID(2))
        await withCheckedContinuation { waiter in
            claims.add(waiter, for: task)
            claims.wakeWaiters(for: other)
            claims.wakeWaiters(for: task)
        }
        // A second call finds no waiting caller. Resuming a continuation twice would crash the process.
        claims.wakeWaiters(for: task)
        #expect(claims.count == 0)
    }

    @Test(arguments: 1...50) func `The table lists the claimed tasks correctly after any order of events`(_ seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        var claims = TaskClaims()
        var starting: Set<TaskID> = []
        var held: [TaskID: Int] = [:]
        for _ in 0..<200 {
            let task = TaskID(Int64.random(in: 1...5, using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                claims.beginStarting([task])
                starting.insert(task)
            case 1:
                claims.endStarting([task])
                starting.remove(task)
            case 2:
                claims.hold(task)
                held[task, default: 0] += 1
            default:
                claims.letGo(task)
                held[task] = max(0, (held[task] ?? 0) - 1)
            }
            for number in 1...5 {
                let task = TaskID(Int64(number))
                let isHeld = held[task] ?? 0 > 0
                #expect(claims.isStarting(task) == starting.contains(task), "seed \(seed)")
                #expect(claims.isHeld(task) == isHeld, "seed \(seed)")
                #expect(claims.contains(task) == (isHeld || starting.contains(task)), "seed \(seed)")
            }
        }
    }

    @Test func `The service asks only a few servers at a time to delete an upload`() {
        var requests = CancellationRequests()
        for _ in 0..<CancellationRequests.limit {
            let mayBegin = requests.begin()
            #expect(mayBegin)
        }
        #expect(requests.begin() == false)
        requests.end()
        #expect(requests.begin() == true)
    }
}
