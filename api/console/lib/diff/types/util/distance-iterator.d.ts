export default function (start: number, minLine: number, maxLine: number): () => number | undefined;
//# sourceMappingURL=distance-iterator.d.ts.map