/// One line of the output of `nightshiftd simulate`: a journal entry, or, as the last line, `{"totals": …}`.
package enum SimulationRecord: Hashable, Sendable, Codable {
    case entry(JournalEntry)
    case totals(SimulationTotals)

    private enum CodingKeys: String, CodingKey {
        case totals
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        if container.contains(.totals) {
            self = .totals(try container.decode(SimulationTotals.self, forKey: .totals))
        } else {
            self = .entry(try JournalEntry(from: decoder))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        switch self {
        case .entry(let entry): try entry.encode(to: encoder)
        case .totals(let totals):
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(totals, forKey: .totals)
        }
    }
}
