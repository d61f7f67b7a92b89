/// Which answer about apps' entries counts: what was asked earlier may be answered later, by then with entries of before.
///
/// A value of the actor that asks.
package struct EntryAnswers: Sendable {
    private var lastQuestion = 0
    private var taken = 0

    package init() {}

    /// - Returns: the number of the question that is about to be asked.
    package mutating func ask() -> Int {
        lastQuestion += 1
        return lastQuestion
    }

    /// - Returns: whether the answer is to be taken. Where one that was asked for later was taken, or somebody has told what an entry
    ///   says meanwhile, it has to be asked again.
    package mutating func take(_ question: Int) -> Bool {
        guard question > taken else { return false }
        taken = question
        return true
    }

    /// Somebody tells what an entry says now, without having been asked.
    package mutating func hear() { taken = ask() }
}
