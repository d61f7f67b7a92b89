import NightshiftAPI
import TestSupport
import Testing

@testable import Nightshift

/// Tests of the ledger of background tasks as a value (row L2).
@Suite @MainActor struct BackgroundTaskLedgerTests {
    @Test func `L2: If time runs out while a task is requested, its handler runs after the task begins`() {
        var ledger = BackgroundTaskLedger()
        var calls = 0
        let number = ledger.add("a") { calls += 1 }
        let early = ledger.expire()
        let handler = ledger.takeHandler(number)
        let isLate = ledger.open(number)
        #expect(early == [] && handler == nil && isLate)
        ledger.takeHandler(number)?()
        ledger.takeHandler(number)?()
        #expect(calls == 1)
        let quiet = ledger.add("b", nil)
        let due = ledger.expire()
        let isQuietLate = ledger.open(quiet)
        #expect(due == [] && !isQuietLate)
    }

    @Test func `L2: The library ends a task whose request got no answer`() {
        var ledger = BackgroundTaskLedger()
        _ = ledger.refuse(ledger.add("refused", nil), mayBeKnown: false)
        #expect(ledger.news == nil)
        let number = ledger.add("unanswered", nil)
        _ = ledger.refuse(number, mayBeKnown: true)
        #expect(ledger.requests.isEmpty && ledger.news == .end(number))
        ledger.told(.end(number))
        #expect(ledger.news == nil)
    }

    @Test func `L2: The library always reports a task's beginning before its end`() throws {
        var ledger = BackgroundTaskLedger()
        let (first, second) = (ledger.add("first", nil), ledger.add("second", nil))
        for number in [first, second] {
            _ = ledger.open(number)
            ledger.tellLater(number)
        }
        let beginning = try #require(ledger.news)
        #expect(beginning == .beginning(BackgroundTaskRequest(number: first, name: "first")))
        _ = ledger.end(first)
        ledger.told(beginning)
        var told: [BackgroundTaskLedger.News] = []
        while let news = ledger.news {
            told.append(news)
            ledger.told(news)
        }
        #expect(told == [.beginning(BackgroundTaskRequest(number: second, name: "second")), .end(first)])
    }

    @Test(arguments: 1...50)
    func `L2: In random walks the library calls each handler once, in time, and loses no task's end`(_ seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ledger = BackgroundTaskLedger()
        var asked: Set<Int64> = []
        var open: Set<Int64> = []
        var ended: [Int64] = []
        var told: [Int64] = []
        var called: [Int64] = []
        for _ in 0..<400 {
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1:
                let number = Box()
                number.value = ledger.add("x") { called.append(number.value) }
                #expect(asked.insert(number.value).inserted && !open.contains(number.value))
            case 2:
                guard let number = asked.randomElement(using: &random) else { continue }
                asked.remove(number)
                open.insert(number)
                if ledger.open(number) { ledger.takeHandler(number)?() }
            case 3:
                guard let number = asked.randomElement(using: &random) else { continue }
                asked.remove(number)
                let mayBeKnown = Bool.random(using: &random)
                _ = ledger.refuse(number, mayBeKnown: mayBeKnown)
                if mayBeKnown { ended.append(number) }
            case 4:
                guard let number = open.union(asked).randomElement(using: &random) else { continue }
                let hasEnded = ledger.end(number).isNews
                let wasOpen = open.remove(number) != nil
                #expect(hasEnded == wasOpen)
                if wasOpen { ended.append(number) }
                let hasEndedTwice = ledger.end(number).isNews
                #expect(!hasEndedTwice)
            case 5:
                let due = ledger.expire()
                #expect(due == due.sorted() && open.isSuperset(of: due))
                for number in due { ledger.takeHandler(number)?() }
                #expect(open.isSubset(of: called))
            default:
                guard case .end(let number) = ledger.news else { continue }
                ledger.told(.end(number))
                told.append(number)
            }
            #expect(ledger.requests.map(\.number) == open.sorted())
            #expect(Set(called).count == called.count)
        }
        while case .end(let number) = ledger.news {
            ledger.told(.end(number))
            told.append(number)
        }
        #expect(told == ended)
    }

    private final class Box {
        var value: Int64 = 0
    }
}
