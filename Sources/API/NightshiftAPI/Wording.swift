/// The words for a value of the API, in two lengths.
package struct Wording: Hashable, Sendable, Encodable {
    /// The words for a list or a table, without a full stop.
    package let short: String
    /// The words for an explanation.
    package let sentence: String

    package init(short: String, sentence: String) {
        self.short = short
        self.sentence = sentence
    }
}

/// A value of the API that has words for display. The command line, the page and the explanations of the service use
/// these words, and have no others.
package protocol Worded {
    var wording: Wording { get }
}

extension Worded {
    package var sentence: String { wording.sentence }
}
