// SPDX-License-Identifier: BSD-2-Clause
package exs.mpj.kernels;

import java.util.Arrays;

/** A block of a sparse matrix, by rows. */
final class SparseMatrix {
  private final int[] rowStart;
  private final int[] column;
  private final double[] value;

  private SparseMatrix(int[] rowStart, int[] column, double[] value) {
    this.rowStart = rowStart;
    this.column = column;
    this.value = value;
  }

  int entries() {
    return column.length;
  }

  /** product = this x. */
  void multiply(double[] x, double[] product) {
    for (int row = 0; row + 1 < rowStart.length; ++row) {
      double sum = 0;
      for (int at = rowStart[row]; at < rowStart[row + 1]; ++at) sum += value[at] * x[column[at]];
      product[row] = sum;
    }
  }

  /** Collects terms, several of which may belong to one place. */
  static final class Builder {
    private final int rows;
    private final int columns;
    private int[] row = new int[1 << 16];
    private int[] column = new int[1 << 16];
    private double[] value = new double[1 << 16];
    private int terms;

    Builder(int rows, int columns) {
      this.rows = rows;
      this.columns = columns;
    }

    void add(int atRow, int atColumn, double term) {
      if (terms == row.length) {
        row = Arrays.copyOf(row, 2 * terms);
        column = Arrays.copyOf(column, 2 * terms);
        value = Arrays.copyOf(value, 2 * terms);
      }
      row[terms] = atRow;
      column[terms] = atColumn;
      value[terms++] = term;
    }

    SparseMatrix build() {
      int[] start = new int[rows + 1];
      for (int term = 0; term < terms; ++term) ++start[row[term] + 1];
      for (int at = 0; at < rows; ++at) start[at + 1] += start[at];
      int[] place = Arrays.copyOf(start, rows);
      int[] byRow = new int[terms];
      for (int term = 0; term < terms; ++term) byRow[place[row[term]]++] = term;
      return merge(start, byRow);
    }

    /** Merges the terms of one place into one entry. */
    private SparseMatrix merge(int[] start, int[] byRow) {
      int[] entryOfColumn = new int[columns];  // one more than the entry's index, if that is at least the row's first
      int[] mergedStart = new int[rows + 1];
      int[] mergedColumn = new int[terms];
      double[] mergedValue = new double[terms];
      int entries = 0;
      for (int at = 0; at < rows; ++at) {
        mergedStart[at] = entries;
        for (int index = start[at]; index < start[at + 1]; ++index) {
          int term = byRow[index];
          int entry = entryOfColumn[column[term]] - 1;
          if (entry < mergedStart[at]) {
            entry = entries++;
            entryOfColumn[column[term]] = entry + 1;
            mergedColumn[entry] = column[term];
          }
          mergedValue[entry] += value[term];
        }
      }
      mergedStart[rows] = entries;
      return new SparseMatrix(mergedStart, Arrays.copyOf(mergedColumn, entries), Arrays.copyOf(mergedValue, entries));
    }
  }
}
