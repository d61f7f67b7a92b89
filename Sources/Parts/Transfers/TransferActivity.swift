/// The activity of transfers that keeps a maintenance window of doze open.
package struct TransferActivity: Hashable, Sendable {
    /// The number of discretionary tasks that run, or could run now if a maintenance window were open. Values above
    /// zero are not exact.
    package var discretionary: Int

    package init(discretionary: Int = 0) {
        self.discretionary = discretionary
    }
}
