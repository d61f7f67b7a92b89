/// What a payload says about how it is delivered.
package struct PayloadFacts: Sendable, Hashable {
    package var isContentAvailable = false
    /// An alert, a sound or a badge.
    package var isSeen = false

    /// Nil for what is not a JSON object.
    package init?(_ payload: [UInt8]) {
        // Of a name that stands there twice the last one counts, as in Foundation, with which apps read it.
        let facts = payload.withUnsafeBufferPointer { bytes -> PayloadFacts? in
            var scanner = JSONScanner(bytes)
            var facts = PayloadFacts()
            let object: Void? = try? scanner.document { (scanner, key) throws(JSONScanner.Malformed) in
                guard key.is("aps") else { return try scanner.skipValue() }
                facts = PayloadFacts()
                guard scanner.isAtObject else { return try scanner.skipValue() }
                try facts.read(&scanner)
            }
            return object == nil ? nil : facts
        }
        guard let facts, JSONScanner.isUnicode(payload) else { return nil }
        self = facts
    }

    private init() {}

    private mutating func read(_ scanner: inout JSONScanner) throws(JSONScanner.Malformed) {
        var facts = self
        try scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
            if key.is("content-available") {
                facts.isContentAvailable = try scanner.integer() == 1
                return
            }
            if key.is("alert") || key.is("sound") || key.is("badge") { facts.isSeen = true }
            try scanner.skipValue()
        }
        self = facts
    }
}
